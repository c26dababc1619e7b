// The nginx configuration of `weir gateway`: one origin, behind the rules of one file.
//
//   clients -> nginx with Weir in its workers -> origin
//
// It fills in the template nginx.conf.in, which explains the configuration. No value ends its
// directive or is read as one of nginx's variables: values that nginx would interpret are refused.
//
// Thread rule: pure. Tested by nginx_config_test.cc, and by tests/e2e/gateway_test.py with nginx.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fault.h"
#include "net/sockets/address.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

struct GatewayOptions {
  std::string origin{};       // http://HOST[:PORT] or https://
  std::string config_file{};  // of the rules
  std::string http{};         // where it listens in clear; empty: nowhere
  std::string http_tls{};     // where it listens under TLS; empty: nowhere
  std::string certificate{};  // for http_tls, with its key
  std::string key{};
  std::string origin_ca{};    // signs the certificates of an origin under TLS
  std::string access_log{};   // a file, or "off"
  Duration origin_timeout{};  // for each step of the origin
  std::int64_t body_max = 0;  // bytes of a request
  std::int64_t memory = 0;    // bytes for counters, shared by nginx's workers
  int workers = 0;            // 0: one for each core
  std::string user{};         // of the workers; empty: the user who starts nginx
  std::string module_file{};
  std::string folder{};                        // for nginx's own files; empty: nginx's choice
  std::vector<std::string> trusted_proxies{};  // networks whose X-Forwarded-For is believed
  bool awaits_responses = false;               // some rule counts by the responses
};

// The error says which option to change, and why.
Result<std::string, Fault> nginx_config(const GatewayOptions& options);

}  // namespace weir
