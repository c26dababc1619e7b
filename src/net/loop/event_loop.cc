#include "net/loop/event_loop.h"

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
#include "base/if_memory.h"

namespace weir {
namespace {

// Events fetched at once. Enough that epoll_wait costs next to nothing a request under
// load, few enough that `now` is fresh and no connection waits long for its turn.
constexpr int kEventsMax = 256;

// How often woken watchers may wake others, or themselves, before the sockets get their turn.
constexpr int kWakeRoundsMax = 8;

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

class EventLoop::LoopAlarm final : public Alarm {
 public:
  LoopAlarm(EventLoop& loop, std::function<void(Instant)> ring)
      : loop_(loop), ring_(std::make_shared<std::function<void(Instant)>>(std::move(ring))) {
    auto& alarms = loop_.alarms_;
    const auto free = std::ranges::find(alarms, nullptr);
    free == alarms.end() ? alarms.push_back(this) : void(*free = this);
  }
  ~LoopAlarm() override { *std::ranges::find(loop_.alarms_, this) = nullptr; }
  LoopAlarm(const LoopAlarm&) = delete;
  LoopAlarm& operator=(const LoopAlarm&) = delete;

  void set(Instant when) override {
    when_ = when;
    loop_.soonest_ = std::min(loop_.soonest_, when);
  }
  Instant when() const { return when_; }

  // May destroy this. False if memory was short.
  [[nodiscard]] bool ring(Instant now) {
    when_ = Instant::max();
    const auto ring = ring_;  // outlives the alarm
    return has_memory_for([&] { (*ring)(now); });
  }

 private:
  EventLoop& loop_;
  std::shared_ptr<std::function<void(Instant)>> ring_;
  Instant when_ = Instant::max();
};

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

void EventLoop::unwatch(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::unique_ptr<Alarm> EventLoop::make_alarm(std::function<void(Instant)> ring) {
  return std::make_unique<LoopAlarm>(*this, std::move(ring));
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
  while (!stopped_) turn(Duration::max());
}

void EventLoop::turn(Duration wait) {
  std::array<epoll_event, kEventsMax> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, timeout_ms(wait));
  // EINTR, from a debugger or somebody's signal, is no event. Other errors are our mistakes and
  // would come again at once, for ever.
  WEIR_ASSERT(count >= 0 || errno == EINTR);
  read_clock();
  const auto fetched = static_cast<std::size_t>(std::max(0, count));
  for (const auto& event : std::span(events.data(), fetched)) {
    if (event.data.ptr == nullptr) {
      has_posts_ = true;
    } else {
      static_cast<Watcher*>(event.data.ptr)->ready(event.events);
    }
  }
  run_alarms();
  if (has_posts_) run_posted();
  run_woken();
}

Instant EventLoop::next_timeout() const {
  if (!wake_.empty()) return now_;
  return has_posts_ ? std::min(soonest_, now_ + kNoMemoryPause) : soonest_;
}

// Milliseconds to wait. The time until the next alarm is rounded up: too early would only mean
// another round.
int EventLoop::timeout_ms(Duration wait) const {
  using std::chrono::milliseconds;
  const Instant next = next_timeout();
  if (next == Instant::max() && wait == Duration::max()) return -1;
  auto longest = std::chrono::floor<milliseconds>(wait);
  if (next != Instant::max()) {
    longest = std::min(longest, std::chrono::ceil<milliseconds>(next - now_));
  }
  return static_cast<int>(std::clamp<std::int64_t>(longest.count(), 0, 60'000));
}

void EventLoop::run_alarms() {
  if (now_ < soonest_) return;
  soonest_ = Instant::max();
  for (std::size_t i = 0; i < alarms_.size(); ++i) {
    LoopAlarm* const alarm = alarms_[i];
    if (alarm == nullptr) continue;
    const Instant when = alarm->when();
    const bool stays = now_ < when || (!alarm->ring(now_) && alarms_[i] == alarm);
    if (stays) alarm->set(now_ < when ? when : std::min(alarm->when(), now_ + kNoMemoryPause));
  }
}

void EventLoop::run_woken() {
  for (int round = 0; round < kWakeRoundsMax && !wake_.empty(); ++round) {
    WakeList waking;  // the watchers of this round
    waking.swap(wake_);
    while (!waking.empty()) {
      Watcher& first = waking.front();
      waking.pop_front();
      first.woken();
    }
  }
}

void EventLoop::run_posted() {
  if (actions_.empty()) {
    has_posts_ = false;
    const auto lock = std::scoped_lock(mutex_);
    actions_.swap(posted_);
  }
  for (; next_action_ < actions_.size(); ++next_action_) {
    if (has_memory_for(actions_[next_action_])) continue;
    has_posts_ = true;  // this action has to run again, and more may have come behind it
    return;
  }
  actions_.clear();
  next_action_ = 0;
}

}  // namespace weir
