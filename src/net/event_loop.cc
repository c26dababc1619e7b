#include "net/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <utility>

#include "base/assert.h"

namespace weir {
namespace {

// Events fetched at once. Enough that epoll_wait costs next to nothing a request under
// load, few enough that `now` is fresh and no connection waits long for its turn.
constexpr int kEventsMax = 256;

UniqueFd open_or_throw(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return UniqueFd(fd);
}

epoll_event event_for(std::uint32_t events, EventLoop::Watcher* watcher) {
  auto event = epoll_event{};
  event.events = events;
  event.data.ptr = watcher;
  return event;
}

}  // namespace

EventLoop::EventLoop(const Clock& clock)
    : clock_(clock),
      now_(clock.now()),
      epoll_(open_or_throw(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wakeup_(open_or_throw(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")) {
  // Edge-triggered: each post() wakes the loop once and nobody has to read the counter.
  auto event = event_for(EPOLLIN | EPOLLET, nullptr);
  WEIR_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) == 0);
}

bool EventLoop::watch(int fd, std::uint32_t events, Watcher& watcher) {
  auto event = event_for(events, &watcher);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventLoop::change(int fd, std::uint32_t events, Watcher& watcher) {
  auto event = event_for(events, &watcher);
  WEIR_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::set_alarm(Instant when, std::function<void()> action) {
  alarm_ = when;
  alarm_action_ = std::move(action);
}

void EventLoop::post(std::function<void()> action) {
  {
    const auto lock = std::scoped_lock(mutex_);
    posted_.push_back(std::move(action));
  }
  // Cannot fail: the counter holds 2^64 - 2 wake-ups.
  ::eventfd_write(wakeup_.get(), 1);
}

void EventLoop::run() {
  std::array<epoll_event, kEventsMax> events;
  while (!stopped_) {
    // EINTR, from a debugger or a signal of somebody else, is no event.
    const int count =
        std::max(0, ::epoll_wait(epoll_.get(), events.data(), kEventsMax, timeout_ms()));
    read_clock();
    bool woken = false;
    for (const auto& event : std::span(events.data(), static_cast<std::size_t>(count))) {
      if (event.data.ptr == nullptr) {
        woken = true;
      } else {
        static_cast<Watcher*>(event.data.ptr)->ready(event.events);
      }
    }
    if (now_ >= alarm_) run_alarm();
    if (woken) run_posted();
  }
}

// Milliseconds until the alarm, rounded up: too early would only mean another round.
int EventLoop::timeout_ms() const {
  if (alarm_ == Instant::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(alarm_ - now_);
  return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000));
}

void EventLoop::run_alarm() {
  alarm_ = Instant::max();
  const auto action = std::exchange(alarm_action_, nullptr);
  action();
}

void EventLoop::run_posted() {
  auto actions = std::vector<std::function<void()>>();
  {
    const auto lock = std::scoped_lock(mutex_);
    actions.swap(posted_);
  }
  for (const auto& action : actions) action();
}

}  // namespace weir
