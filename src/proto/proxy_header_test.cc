#include "proto/proxy_header.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weir {
namespace {

using Status = ProxyHeader::Status;

// "incomplete", "malformed", or the client and the bytes after the header.
std::string parsed(std::string_view input) {
  const auto header = parse_proxy_header(input);
  if (header.status == Status::kIncomplete) return "incomplete";
  if (header.status == Status::kMalformed) return "malformed";
  const auto client = header.source ? header.source->to_string() : "the socket's";
  return client + " then '" + std::string(input.substr(header.size)) + "'";
}

std::string version2(std::uint8_t command, std::uint8_t family, std::string_view rest) {
  auto text = std::string("\r\n\r\n\0\r\nQUIT\n", 12);
  text += static_cast<char>(command);
  text += static_cast<char>(family);
  text += static_cast<char>(rest.size() / 256);
  text += static_cast<char>(rest.size() % 256);
  return text.append(rest);
}

const std::string kAddresses4("\xc0\x00\x02\x01\xc6\x33\x64\x07\xdc\x04\x01\xbb", 12);
const std::string kAddresses6 = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') +
                                '\x01' + std::string(16, '\x07') + std::string(4, '\x01');
// 192.0.2.1, mapped.
const std::string kMapped6 = std::string(10, '\0') + "\xff\xff" +
                             std::string("\xc0\x00\x02\x01", 4) + std::string(20, '\x07');

struct Case {
  std::string input;
  std::string expected;
};

TEST(ProxyHeader, Version1) {
  const Case cases[] = {
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\nGET", "192.0.2.1 then 'GET'"},
      {"PROXY TCP4 255.255.255.255 0.0.0.0 0 65535\r\n", "255.255.255.255 then ''"},
      {"PROXY TCP6 2001:db8::1 ::1 56324 443\r\n\r\n", "2001:db8::1 then '\r\n'"},
      {"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "192.0.2.1 then ''"},
      {"PROXY UNKNOWN\r\nx", "the socket's then 'x'"},
      {"PROXY UNKNOWN ffff:f...f:ffff whatever this is\r\n", "the socket's then ''"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443", "incomplete"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\n", "incomplete"},
      {"", "incomplete"},

      {"GET / HTTP/1.1\r\n", "malformed"},
      {"proxy TCP4 192.0.2.1 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY\r\n", "malformed"},
      {"PROXY \r\n", "malformed"},
      {"PROXY UNKNOWNS\r\n", "malformed"},
      {"PROXY TCP5 192.0.2.1 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY UDP4 192.0.2.1 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY TCP4 2001:db8::1 ::1 56324 443\r\n", "malformed"},
      {"PROXY TCP6 192.0.2.1 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY TCP6 fe80::1%eth0 ::1 56324 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.256 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.01 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 nobody 56324 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 65536 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 0443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 -1 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 \r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443 \r\n", "malformed"},
      {"PROXY TCP4  192.0.2.1 198.51.100.7 56324 443\r\n", "malformed"},
      {"PROXY TCP4 192.0.2.1 198.51.100.7 56324 443 1\r\n", "malformed"},
      {" PROXY UNKNOWN\r\n", "malformed"},
  };
  for (const auto& [input, expected] : cases) EXPECT_EQ(parsed(input), expected) << input;
}

TEST(ProxyHeader, Version1IsALineOf107Bytes) {
  const auto longest = "PROXY UNKNOWN " + std::string(107 - 16, 'x');
  EXPECT_EQ(parsed(longest + "\r\n"), "the socket's then ''");
  EXPECT_EQ(parsed(longest), "incomplete");
  EXPECT_EQ(parsed(longest + "x\r\n"), "malformed");
  EXPECT_EQ(parsed(longest + "xx"), "malformed");
}

TEST(ProxyHeader, Version2) {
  const std::string extension("\x04\x00\x02xx", 5);
  const Case cases[] = {
      {version2(0x21, 0x11, kAddresses4) + "GET", "192.0.2.1 then 'GET'"},
      {version2(0x21, 0x11, kAddresses4 + extension) + "GET", "192.0.2.1 then 'GET'"},
      {version2(0x21, 0x21, kAddresses6), "2001:db8::1 then ''"},
      {version2(0x21, 0x21, kMapped6), "192.0.2.1 then ''"},
      {version2(0x20, 0x00, ""), "the socket's then ''"},
      {version2(0x20, 0x00, "skipped") + "x", "the socket's then 'x'"},
      {version2(0x20, 0x11, kAddresses4), "the socket's then ''"},
      {version2(0x20, 0x99, "x"), "the socket's then ''"},
      {version2(0x21, 0x00, extension), "the socket's then ''"},
      {version2(0x21, 0x12, kAddresses4), "the socket's then ''"},
      {version2(0x21, 0x31, std::string(216, 'x')), "the socket's then ''"},

      {version2(0x11, 0x11, kAddresses4), "malformed"},  // version 1 in binary
      {version2(0x22, 0x11, kAddresses4), "malformed"},  // no such command
      {version2(0x21, 0x41, kAddresses4), "malformed"},  // no such family, either
      {version2(0x21, 0x13, kAddresses4), "malformed"},
      {version2(0x21, 0x11, kAddresses4.substr(1)), "malformed"},  // too short for the family
      {version2(0x21, 0x21, kAddresses4), "malformed"},
      {version2(0x21, 0x31, std::string(215, 'x')), "malformed"},
      {"\r\n\r\nGET / HTTP/1.1\r\n", "malformed"},
      {"\n", "malformed"},
  };
  for (const auto& [input, expected] : cases) EXPECT_EQ(parsed(input), expected) << input;
}

TEST(ProxyHeader, Version2HasABound) {
  const auto rest = kAddresses4 + std::string(kProxyHeaderMax - 16 - 12, '\0');
  EXPECT_EQ(parsed(version2(0x21, 0x11, rest)), "192.0.2.1 then ''");
  // Refused as soon as its length is known.
  EXPECT_EQ(parsed(version2(0x21, 0x11, rest + 'x').substr(0, 16)), "malformed");
  EXPECT_EQ(parsed(version2(0x20, 0x00, rest + 'x').substr(0, 16)), "malformed");
}

TEST(ProxyHeader, IsIncompleteUpToItsLastByte) {
  for (const auto& whole : {std::string("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"),
                            std::string("PROXY UNKNOWN\r\n"), version2(0x21, 0x11, kAddresses4),
                            version2(0x20, 0x00, ""), version2(0x21, 0x21, kAddresses6 + "tlv")}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(parsed(whole.substr(0, size)), "incomplete") << whole << size;
    }
    EXPECT_EQ(parse_proxy_header(whole + "more").size, whole.size());
  }
}

}  // namespace
}  // namespace weir
