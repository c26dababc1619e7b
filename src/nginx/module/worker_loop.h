// WorkerLoop: a fleet member's event loop within nginx's, and the requests that wait for it.
//
// The member's descriptor is readable for nginx when something has happened on a connection to the
// Redis; one timer of nginx stands for all alarms of the member. nginx turns the member's loop at
// either, and after handlers that have asked something.
//
// The timer keeps a worker that is to quit alive exactly while requests wait.
//
// Thread rule: a worker's only thread; one loop a process. Tested by tests/nginx/fleet_test.py.

#pragma once

#include "nginx/abi/nginx_api.h"
#include "nginx/fleet_member.h"
#include "nginx/judge.h"

namespace weir::nginx {

class WorkerLoop {
 public:
  // All must outlive this.
  WorkerLoop(FleetMember& member, Judge& judge, ngx_cycle_t* cycle);
  // Ends the member's part in the fleet, soon enough for a worker to wait for it.
  ~WorkerLoop();
  WorkerLoop(const WorkerLoop&) = delete;
  WorkerLoop& operator=(const WorkerLoop&) = delete;

  // False if nginx has no connection to spare, which it has then logged.
  bool begin();

  // A handler has asked something: it is sent when nginx has finished its current work.
  void has_asked();

  void begin_waiting();
  void end_waiting();

 private:
  static void turn(ngx_event_t* event) noexcept;

  void turn_once();
  void set_timer();

  FleetMember& member_;
  Judge& judge_;
  ngx_cycle_t* const cycle_;
  ngx_connection_t* connection_ = nullptr;
  ngx_event_t timer_{};
  ngx_event_t soon_{};
  Instant timer_end_{};
  unsigned waiting_ = 0;  // requests
};

}  // namespace weir::nginx
