// One HTTP request, blocking, by libcurl: for commands that ask a running server, and for webhooks.
//
// Redirects are not followed and the environment's proxies not used: a token is only for the host
// that its user named. https:// needs TLS 1.2 and a certificate for the host by an authority that
// the system trusts (SSL_CERT_FILE names others).
//
// Thread rule: any. Tested by http_client_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "base/fault.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

struct HttpQuestion {
  std::string url;      // http:// or https://; without a scheme it is http://
  std::string token{};  // for Authorization: Bearer; empty: none
  std::string method = "GET";
  std::string body{};      // JSON; empty: none
  std::string if_match{};  // the ETag that must hold; empty: any
};

struct HttpReply {
  long status = 0;
  std::string body;
};

// Takes `patience` at most for everything, and ends early when `stop` is requested. Refuses a reply
// of over 1 MiB. The fault says why there is no reply: "it took too long".
Result<HttpReply, Fault> ask_http(const HttpQuestion& question, Duration patience,
                                  std::stop_token stop = {});

// HttpUrl: http://HOST[:PORT][/PATH] or https://, as libcurl reads it, IPv6 addresses in brackets.
//
// It names no user: a password belongs into a file. Paths may be secret as well, so the log gets
// the origin only.
//
// Thread rule: a value. Tested by http_url_test.cc.
struct HttpUrl {
  std::string text{};    // the whole URL
  std::string scheme{};  // "http" or "https"
  std::string host{};    // IPv6 addresses in brackets
  std::string port{};
  std::string target{};  // path and query

  // nullopt if the text is no such URL.
  static std::optional<HttpUrl> parse(const std::string& text);

  // "https://alerts.example.com:443".
  std::string origin() const { return scheme + "://" + host + ":" + port; }
  // The host as in certificates: addresses without brackets.
  std::string name() const {
    return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
  }
  // Whether nobody on the way can read the requests.
  bool is_private() const;
};

}  // namespace weir
