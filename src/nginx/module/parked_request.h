// ParkedRequest: a request of nginx that waits until a Redis has answered, as limit_req lets its
// delayed ones wait: its phases stop, nginx looks whether its client leaves, and they go on where
// they have stopped.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/fleet_test.py.

#pragma once

#include "nginx/abi/nginx_api.h"
#include "nginx/judge.h"
#include "nginx/module/worker_loop.h"

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

}  // namespace weir::nginx
