#include "rules/request/client_address.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

const TrustedProxies kTrusted({*IpPrefix::parse("10.0.0.0/8"), *IpPrefix::parse("2001:db8::/32")});

std::string client(std::string_view peer, std::vector<NameValue> headers,
                   ClientHeader header = ClientHeader::kXForwardedFor) {
  const auto found = client_address(IpAddress::parse(peer), headers, header, kTrusted);
  return found ? found->to_string() : "none";
}

std::string by_chain(std::string_view value) {
  return client("10.0.0.1", {{"x-forwarded-for", value}});
}

TEST(ClientAddress, OfAStrangerIsItsOwn) {
  EXPECT_EQ(client("203.0.113.9", {{"X-Forwarded-For", "192.0.2.1"}}), "203.0.113.9");
  EXPECT_EQ(client("203.0.113.9", {{"X-Real-IP", "192.0.2.1"}}, ClientHeader::kXRealIp),
            "203.0.113.9");
}

TEST(ClientAddress, IsTheFirstFromTheRightThatIsNotTrusted) {
  EXPECT_EQ(by_chain("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(by_chain("6.6.6.6, 192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(by_chain("6.6.6.6,192.0.2.1 , 10.1.1.1,10.2.2.2"), "192.0.2.1");
  EXPECT_EQ(by_chain("6.6.6.6, 192.0.2.1:8080, [2001:db8::7]:443"), "192.0.2.1");
  EXPECT_EQ(by_chain("10.1.1.1, 10.2.2.2"), "10.1.1.1");
  EXPECT_EQ(by_chain(" , 192.0.2.1,, "), "192.0.2.1");
  EXPECT_EQ(by_chain("::ffff:192.0.2.1"), "192.0.2.1");
}

TEST(ClientAddress, StopsWhereTheChainStopsMakingSense) {
  EXPECT_EQ(by_chain("192.0.2.1, unknown, 10.1.1.1"), "10.1.1.1");
  EXPECT_EQ(by_chain("192.0.2.1, <script>"), "10.0.0.1");
  EXPECT_EQ(by_chain("unknown"), "10.0.0.1");
  EXPECT_EQ(by_chain(""), "10.0.0.1");
  EXPECT_EQ(by_chain("192.0.2.1:80:80"), "10.0.0.1");
}

TEST(ClientAddress, ReadsSeveralFieldsAsOneList) {
  EXPECT_EQ(client("10.0.0.1", {{"X-Forwarded-For", "6.6.6.6"},
                                {"Host", "h"},
                                {"X-Forwarded-For", "192.0.2.1, 10.1.1.1"}}),
            "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {{"X-Forwarded-For", "192.0.2.1"}, {"X-Forwarded-For", "10.1.1.1"}}),
            "192.0.2.1");
}

TEST(ClientAddress, ReadsForwardedElements) {
  const auto forwarded = [](std::string_view value) {
    return client("10.0.0.1", {{"Forwarded", value}}, ClientHeader::kForwarded);
  };
  EXPECT_EQ(forwarded("for=192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(forwarded("proto=http; FOR=\"192.0.2.1:80\" ;by=10.0.0.1"), "192.0.2.1");
  EXPECT_EQ(forwarded("for=6.6.6.6, for=\"[2001:db9::1]:8080\", for=10.1.1.1"), "2001:db9::1");
  EXPECT_EQ(forwarded("for=_hidden"), "10.0.0.1");
  EXPECT_EQ(forwarded("for=unknown, for=10.1.1.1"), "10.1.1.1");
  EXPECT_EQ(forwarded("by=192.0.2.1"), "10.0.0.1");
  EXPECT_EQ(forwarded(""), "10.0.0.1");
}

// Whichever header a proxy sets, the client sent all others.
TEST(ClientAddress, BelievesTheNamedHeaderOnly) {
  const std::vector<NameValue> both = {{"X-Real-IP", "192.0.2.1"}, {"X-Forwarded-For", "6.6.6.6"}};
  EXPECT_EQ(client("10.0.0.1", both, ClientHeader::kXRealIp), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", both, ClientHeader::kXForwardedFor), "6.6.6.6");
  EXPECT_EQ(client("10.0.0.1", both, ClientHeader::kCfConnectingIp), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {{"X-Real-IP", "192.0.2.1, 6.6.6.6"}}, ClientHeader::kXRealIp),
            "10.0.0.1");
}

TEST(ClientAddress, BelievesAUnixSocketAndLoopbackUnlessToldOtherwise) {
  const std::vector<NameValue> headers = {{"X-Forwarded-For", "192.0.2.1"}};
  const auto found = [&](std::optional<IpAddress> peer, const TrustedProxies& trusted) {
    const auto client = client_address(peer, headers, ClientHeader::kXForwardedFor, trusted);
    return client ? client->to_string() : "none";
  };
  EXPECT_EQ(found(std::nullopt, TrustedProxies(std::vector<IpPrefix>())), "192.0.2.1");
  EXPECT_EQ(found(IpAddress::parse("127.0.0.1"), {}), "192.0.2.1");
  EXPECT_EQ(found(IpAddress::parse("::1"), {}), "192.0.2.1");
  EXPECT_EQ(found(IpAddress::parse("127.0.0.1"), TrustedProxies(std::vector<IpPrefix>())),
            "127.0.0.1");
  EXPECT_EQ(found(IpAddress::parse("10.0.0.1"), {}), "10.0.0.1");
}

TEST(ClientAddress, ACallerIsNamedByATrustedPeerAlone) {
  const auto local = IpAddress::parse("127.0.0.1");
  const auto other = IpAddress::parse("203.0.113.1");
  const std::vector<NameValue> none = {{"X-Real-IP", "192.0.2.1"}};
  const auto named = [](std::string_view value) {
    return std::vector<NameValue>{{"x-forwarded-for", value}};
  };
  const Caller client{.address = IpAddress::parse("192.0.2.1"), .is_named = true};
  EXPECT_EQ(caller_of(local, named("6.6.6.6, 192.0.2.1"), {}), client);
  EXPECT_EQ(caller_of(std::nullopt, named("192.0.2.1"), {}), client);
  EXPECT_EQ(caller_of(local, none, {}), (Caller{.address = local}));
  EXPECT_EQ(caller_of(other, named("192.0.2.1"), {}), (Caller{.address = other}));
  for (const std::string_view claim : {"127.0.0.1", "unknown", ""}) {
    EXPECT_EQ(caller_of(local, named(claim), {}), (Caller{.address = local, .is_named = true}))
        << claim;
  }
}

TEST(ClientAddress, ACallerIsItsNetwork) {
  const auto network = [](std::string_view address) {
    return Caller{.address = IpAddress::parse(address)}.network().address->to_string();
  };
  EXPECT_EQ(network("192.0.2.77"), "192.0.2.77");
  EXPECT_EQ(network("2001:db8:1:2:3::4"), "2001:db8:1:2::");
  EXPECT_EQ(Caller{}.network(), Caller{});
}

TEST(ClientAddress, NamesHeadersInAnyCase) {
  EXPECT_EQ(client_header_from_name("x-forwarded-for"), ClientHeader::kXForwardedFor);
  EXPECT_EQ(client_header_from_name("CF-Connecting-IP"), ClientHeader::kCfConnectingIp);
  EXPECT_FALSE(client_header_from_name("True-Client-IP"));
}

}  // namespace
}  // namespace weir
