// Decided: what became of a request, kept from its decision to its end.
//
// Redirects within nginx clear what its modules keep for a request, but not its cleanups: so it
// lies in one, and is found again through all of them.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/redirect_test.py.

#pragma once

#include <cstdint>

#include "nginx/abi/nginx_api.h"
#include "nginx/module/parked_request.h"
#include "nginx/stay.h"

namespace weir::nginx {

// What decides this worker's requests.
struct Deciders {
  Judge* judge = nullptr;      // null: nobody
  WorkerLoop* loop = nullptr;  // of the Redis for which requests may wait; null: there is none
};
inline Deciders deciders;

// Plain memory of the request's pool.
struct Decided {
  ngx_str_t decision;  // none: nobody was asked
  ngx_str_t rule;      // what follows is of this rule; none if none applied
  ngx_str_t mode;
  ngx_str_t key;
  std::int64_t limit;
  std::int64_t remaining;
  std::int64_t retry_after_s;  // 0: waiting does not help, or is not needed
  std::int64_t time_us;
  std::int64_t wait_ms;   // 0: it need not wait for its turn
  bool is_delayed;        // it waits for its turn
  ParkedRequest* parked;  // while it waits for its answer; else null
  Stay* stay;             // while it owes something; else null
};

// The one of the client's request, also where nginx works on a part of it. Null: nothing.
Decided* find_decided(const ngx_http_request_t* request);

// All zeros, to the end of the request, when what it has asked or owes is settled. Null: nginx has
// no memory.
Decided* keep_decided(ngx_http_request_t* request);

// Charges what the head of the response makes due, once for each request.
// Part of the chain of filters that send it.
ngx_int_t count_response(ngx_http_request_t* request) noexcept;

// From now on count_response() hands on to this filter.
void count_responses_before(ngx_http_output_header_filter_pt next);

}  // namespace weir::nginx
