// HttpUrl: http://HOST[:PORT][/PATH] or https://, as libcurl reads it, IPv6 addresses in brackets.
//
// It names no user: a password belongs into a file. Paths may be secret as well, so the log gets
// the origin only.
//
// Thread rule: a value. Tested by http_url_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weir {

struct HttpUrl {
  std::string text{};    // the whole of it
  std::string scheme{};  // "http" or "https"
  std::string host{};    // IPv6 addresses in brackets
  std::string port{};
  std::string target{};  // path and query

  // Nothing if it is no such URL.
  static std::optional<HttpUrl> parse(const std::string& text);

  // "https://alerts.example.com:443".
  std::string origin() const { return scheme + "://" + host + ":" + port; }
  // The host as certificates name it: addresses without brackets.
  std::string name() const {
    return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
  }
  // Whether nobody between can read what is sent.
  bool is_private() const;
};

}  // namespace weir
