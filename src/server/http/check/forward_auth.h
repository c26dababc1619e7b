// Forward-auth: a proxy asks /auth whether the request it holds may pass.
//
// Each kind of proxy describes that request in its own way, and passes along its client's headers.
// So Weir believes a header only if this kind of proxy is known to set it itself. The path names
// the kind, and no client can choose the path:
//
//   path                  the request is in                    client in        answers
//   /auth                 X-Forwarded-Method, -Uri, -Host      X-Forwarded-For  200, 429
//   /auth/nginx           X-Original-Method, -URI, -Host       X-Real-IP        204, 403
//   /auth/ingress-nginx   X-Original-Method, X-Original-URL    X-Real-IP        200, 403
//   /auth/envoy/...       the method; the rest of the path     X-Forwarded-For  200, 429
//
// /auth is for Caddy, Traefik and our script for HAProxy. With nginx the operator writes the query,
// which may change this: ?allow=200&deny=429&client=x-forwarded-for. With the others the client
// writes the query, so it does not change the answer.
//
// Thread rule: pure. Tested by tests/scenarios/http_auth.yaml.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/name_value.h"
#include "gate/described_request.h"
#include "proto/http/problem.h"
#include "rules/request/client_address.h"

namespace weir {

// How one kind of proxy describes a request, and expects the answer.
struct ProxyProfile {
  std::string_view auth_path;
  std::string_view method_header;  // empty: the method of the request to /auth
  std::string_view uri_header;     // empty: the rest of the path
  std::string_view host_header;    // empty: in the URI, which is a whole URL
  ClientHeader client_header;
  int allow;              // 200 or 204
  int deny;               // 429 or 403
  bool takes_parameters;  // the operator writes the query
};

// REQUIRES: `path` is /auth, or below it
std::optional<Problem> read_profile(std::string_view path, std::string_view query,
                                    ProxyProfile& profile);

// A proxy's request to /auth.
struct AuthCall {
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::span<const NameValue> headers;
  std::optional<IpAddress> peer;
  bool is_printable = false;  // http1_head.h
};

// The request that the proxy holds. A problem if the peer is not trusted, or has not named that
// request.
std::optional<Problem> read_forwarded_request(const AuthCall& call, const ProxyProfile& profile,
                                              const TrustedProxies& trusted,
                                              DescribedRequest& described);

}  // namespace weir
