// One HTTP request, blocking, by libcurl: of commands that ask a running server, and of webhooks.
//
// Redirects are not followed and proxies of the environment not used: a token is for the host
// that its user named. https:// needs TLS 1.2 and a certificate for the host by an authority that
// the system trusts (SSL_CERT_FILE names others).
//
// Thread rule: any. Tested by http_client_test.cc.

#pragma once

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
  std::string body{};  // JSON; empty: none
};

struct HttpReply {
  long status = 0;
  std::string body;
};

// All of it may take as long as `patience`, and ends early when `stop` is requested. A reply of
// over 1 MiB is refused. The fault says why there is no reply: "it took too long".
Result<HttpReply, Fault> ask_http(const HttpQuestion& question, Duration patience,
                                  std::stop_token stop = {});

}  // namespace weir
