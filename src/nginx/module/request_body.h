// The body of a request whose rules look at it: nginx reads it before the request is judged, as for
// its mirror module, and hands it on unharmed.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/usage_test.py.

#pragma once

#include "nginx/abi/nginx_api.h"
#include "nginx/module/decided.h"
#include "proto/usage/asked_tokens.h"

namespace weir::nginx {

// It has one, and that is not compressed.
bool has_plain_body(const ngx_http_request_t* request);

// Has nginx read it all, into memory or a file. Returns what a handler of a phase does then; the
// handler runs again when it is there. Whom nginx waits for in vain it answers itself.
ngx_int_t await_body(ngx_http_request_t* request, Decided& decided);

// As much as rules look at. Refers to the request, or to memory of the worker until the next call.
// REQUIRES: it has been read
BodyStart start_of_body(const ngx_http_request_t* request);

}  // namespace weir::nginx
