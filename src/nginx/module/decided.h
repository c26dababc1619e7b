// Decided: a request's outcome, kept from its decision to its end, and how a request waits.
//
// Internal redirects of nginx clear what modules keep for a request, but not its cleanups. So the
// outcome lies in a cleanup, and is found again after each redirect.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/redirect_test.py,
// tests/nginx/fleet_test.py and tests/nginx/delay_test.py.

#pragma once

#include <cstdint>

#include "nginx/abi/nginx_api.h"
#include "nginx/judge.h"
#include "nginx/module/worker_loop.h"
#include "nginx/stay.h"
#include "weir/time.h"

namespace weir::nginx {

// While it lives, the worker does not end, and nginx watches whether the client leaves.
class ClientWatch {
 public:
  ClientWatch(WorkerLoop& loop, ngx_http_request_t* request);
  ~ClientWatch() { loop_.end_waiting(); }
  ClientWatch(const ClientWatch&) = delete;
  ClientWatch& operator=(const ClientWatch&) = delete;

 private:
  WorkerLoop& loop_;
};

// A request that waits for a Redis, as limit_req's delayed requests wait. Its phases stop, nginx
// watches whether its client leaves, and the phases go on where they stopped.
class ParkedRequest final : public Pending {
 public:
  // REQUIRES: the judge's last judgement is about `request`, and waits
  ParkedRequest(Judge& judge, WorkerLoop& loop, ngx_http_request_t* request)
      : Pending(judge), watch_(loop, request), request_(request) {}

 private:
  void resume() override;

  const ClientWatch watch_;
  ngx_http_request_t* const request_;
};

// The objects that decide this worker's requests.
struct Deciders {
  Judge* judge = nullptr;      // null: none decides
  WorkerLoop* loop = nullptr;  // of the Redis for which requests may wait; null: none
};
inline Deciders deciders;

// Plain memory of the request's pool.
struct Decided {
  ngx_str_t decision;  // empty: no decision
  ngx_str_t rule;      // of the fields below; empty if no rule applied
  ngx_str_t mode;
  ngx_str_t key;
  std::int64_t limit;
  std::int64_t remaining;
  std::int64_t retry_after_s;  // 0: waiting does not help, or is not needed
  std::int64_t time_us;
  std::int64_t wait_ms;  // 0: its turn is now
  bool is_delayed;       // it waits for its turn
  enum class Body : std::uint8_t {
    kNotNeeded,
    kAwaited,  // nginx is reading it
    kRead,     // so the request can be judged
  } body;
  ParkedRequest* parked;  // while it waits for its answer; else null
  Stay* stay;             // while it owes something; else null
};

// The outcome of the client's request, even if nginx works on a subrequest. Null: none.
Decided* find_decided(const ngx_http_request_t* request);

// An outcome of zeros, kept to the end of the request, which settles asks and debts. Null: nginx
// has no memory.
Decided* keep_decided(ngx_http_request_t* request);

// Charges what the head of the response makes due, once for each request. It is part of the chain
// of filters for heads.
ngx_int_t count_response(ngx_http_request_t* request) noexcept;

// Reads the body if it says the cost, and charges that at the body's end. Passes the bytes on as
// they come. It is part of the chain of filters for bodies.
ngx_int_t read_response(ngx_http_request_t* request, ngx_chain_t* pieces) noexcept;

// From now on count_response() and read_response() hand on to these filters.
void count_responses_before(ngx_http_output_header_filter_pt next);
void read_responses_before(ngx_http_output_body_filter_pt next);

// Lets a request wait for its turn, as limit_req does: a timer lets its phases go on, and a worker
// that is to quit waits for it. Returns the result for the phase's handler, which runs again.
ngx_int_t delay_request(ngx_http_request_t* request, Decided& decided, Duration wait);

}  // namespace weir::nginx
