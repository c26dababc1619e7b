#include "nginx/module/worker_loop.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>

#include "nginx/module/settings.h"

namespace weir::nginx {
namespace {

constexpr Duration kLeaveMax = std::chrono::milliseconds(300);
constexpr std::int64_t kTimerMaxMs = 60'000;

}  // namespace

WorkerLoop::WorkerLoop(FleetMember& member, Judge& judge, ngx_cycle_t* cycle)
    : member_(member), judge_(judge), cycle_(cycle) {}

bool WorkerLoop::begin() {
  connection_ = ngx_get_connection(member_.descriptor(), cycle_->log);
  if (connection_ == nullptr) return false;
  connection_->data = this;
  connection_->read->channel = 1;  // else nginx complains of it at the end
  connection_->read->log = cycle_->log;
  connection_->read->handler = turn;
  for (ngx_event_t* const event : {&timer_, &soon_}) {
    event->data = connection_;
    event->log = cycle_->log;
    event->handler = turn;
  }
  timer_.cancelable = 1;
  // Level-triggered: one turn does not always do all work.
  if (ngx_add_event(connection_->read, NGX_READ_EVENT, 0) != NGX_OK) return false;
  set_timer();
  return true;
}

WorkerLoop::~WorkerLoop() {
  if (timer_.timer_set != 0) ngx_del_timer(&timer_);
  if (soon_.posted != 0) {
    ngx_delete_posted_event(&soon_);  // a macro of several statements
  }
  if (connection_ != nullptr) {
    ngx_del_event(connection_->read, NGX_READ_EVENT, 0);
    ngx_free_connection(connection_);
    connection_->fd = -1;  // the descriptor is the member's
  }
  member_.leave(kLeaveMax);
}

void WorkerLoop::has_asked() {
  if (member_.next_timeout() < timer_end_) {
    ngx_post_event(&soon_, &ngx_posted_events);
  }
}

void WorkerLoop::begin_waiting() {
  ++waiting_;
  timer_.cancelable = 0;
}

void WorkerLoop::end_waiting() {
  --waiting_;
  timer_.cancelable = waiting_ == 0 ? 1 : 0;
}

void WorkerLoop::turn(ngx_event_t* event) noexcept {
  auto* const connection = static_cast<ngx_connection_t*>(event->data);
  try {
    static_cast<WorkerLoop*>(connection->data)->turn_once();
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_ERR, event->log, 0, "weir: %s", error.what());
  }
}

void WorkerLoop::turn_once() {
  if (ngx_exiting != 0) member_.retire();
  member_.turn(Duration::zero());
  judge_.due().go_on();
  set_timer();
}

void WorkerLoop::set_timer() {
  using std::chrono::milliseconds;
  if (timer_.timer_set != 0) ngx_del_timer(&timer_);
  timer_end_ = member_.next_timeout();
  if (timer_end_ == Instant::max()) return;
  const auto wait = std::chrono::ceil<milliseconds>(timer_end_ - zone_clock().now()).count();
  ngx_add_timer(&timer_, static_cast<ngx_msec_t>(std::clamp<std::int64_t>(wait, 0, kTimerMaxMs)));
}

}  // namespace weir::nginx
