// Decided: what became of a request, kept from its decision to its end, and how a request waits.
//
// Redirects within nginx clear what its modules keep for a request, but not its cleanups: so it
// lies in one, and is found again through all of them.
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

// While it lives, the worker does not end, and nginx looks whether the client leaves.
class ClientWatch {
 public:
  ClientWatch(WorkerLoop& loop, ngx_http_request_t* request);
  ~ClientWatch() { loop_.end_waiting(); }
  ClientWatch(const ClientWatch&) = delete;
  ClientWatch& operator=(const ClientWatch&) = delete;

 private:
  WorkerLoop& loop_;
};

// A request that waits until a Redis has answered, as limit_req lets its delayed ones wait. Its
// phases stop, nginx looks whether its client leaves, and they go on where they have stopped.
class ParkedRequest final : public Pending {
 public:
  // REQUIRES: what the judge judged last is about `request`, and waits
  ParkedRequest(Judge& judge, WorkerLoop& loop, ngx_http_request_t* request)
      : Pending(judge), watch_(loop, request), request_(request) {}

 private:
  void resume() override;

  const ClientWatch watch_;
  ngx_http_request_t* const request_;
};

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
  std::int64_t wait_ms;  // 0: it need not wait for its turn
  bool is_delayed;       // it waits for its turn
  enum class Body : std::uint8_t {
    kNotNeeded,
    kAwaited,  // nginx reads it
    kRead,     // so that the request can be judged
  } body;
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

// Reads the body where it says what is due, and charges that at its end. Bytes pass as they come.
// Part of the chain of filters that send it.
ngx_int_t read_response(ngx_http_request_t* request, ngx_chain_t* pieces) noexcept;

// From now on count_response() and read_response() hand on to these filters.
void count_responses_before(ngx_http_output_header_filter_pt next);
void read_responses_before(ngx_http_output_body_filter_pt next);

// Lets a request wait for its turn, as limit_req does: a timer lets its phases go on. A worker that
// is to quit waits for it. Returns what a handler of a phase does then; the handler runs again.
ngx_int_t delay_request(ngx_http_request_t* request, Decided& decided, Duration wait);

}  // namespace weir::nginx
