// WebhookUrl: http://HOST[:PORT][/PATH] or https://, IPv6 addresses in brackets.
//
// Names no user: a password belongs into a file. Paths may be secret as well, so the log gets the
// origin only.
//
// Thread rule: a value. Tested by webhook_url_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct WebhookUrl {
  enum class Scheme : std::uint8_t { kHttp, kHttps };

  Scheme scheme = Scheme::kHttp;
  std::string host{};  // without brackets
  std::string port{};
  std::string authority{};  // as written, for the Host header
  std::string target{};     // path and query

  static std::optional<WebhookUrl> parse(std::string_view text);

  // "https://alerts.example.com".
  std::string origin() const;
  // Whether nobody between can read what is sent.
  bool is_private() const;
};

}  // namespace weir
