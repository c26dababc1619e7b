// The body of a request. If rules read it, nginx reads it before the request is judged, as for its
// mirror module, and passes it on unchanged.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/usage_test.py and
// tests/nginx/admin_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "nginx/abi/nginx_api.h"
#include "nginx/module/decided.h"
#include "proto/usage/asked_tokens.h"

namespace weir::nginx {

// Whether it has a body, and that is not compressed.
bool has_plain_body(const ngx_http_request_t* request);

// Makes nginx read the whole body, into memory or a file. Returns the value for a phase's handler
// to return; the handler runs again when the body is there. If it never comes, nginx answers.
ngx_int_t await_body(ngx_http_request_t* request, Decided& decided);

// Appends the body, of which nginx keeps a long one in a file. If it is longer than `most`, appends
// so much of it; if the file cannot be read, anything. REQUIRES: `to` is empty
enum class BodyRead : std::uint8_t { kWhole, kLonger, kUnreadable };
BodyRead read_body(const ngx_http_request_t* request, std::string& to, std::size_t most);

// The beginning of the body that rules read. It refers to the request, or to memory of the worker
// until the next call. REQUIRES: nginx has read the body
BodyStart start_of_body(const ngx_http_request_t* request);

}  // namespace weir::nginx
