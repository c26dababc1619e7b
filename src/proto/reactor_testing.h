// ManualReactor: a reactor whose alarms ring when the test says so.
//
// Thread rule: one thread.

#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "proto/reactor.h"

namespace weir {

class ManualReactor final : public Reactor {
 public:
  std::unique_ptr<Alarm> make_alarm(std::function<void(Instant)> ring) override {
    return std::make_unique<ManualAlarm>(*this, std::move(ring));
  }

  // One round of the loop, at `now`.
  void run(Instant now) {
    for (std::size_t i = 0; i < alarms_.size(); ++i) {
      ManualAlarm* alarm = alarms_[i];
      if (alarm->when <= now) {
        alarm->when = Instant::max();
        alarm->ring(now);
      }
    }
  }
  Instant next() const {
    Instant next = Instant::max();
    for (const ManualAlarm* alarm : alarms_) next = std::min(next, alarm->when);
    return next;
  }

 private:
  struct ManualAlarm final : Alarm {
    ManualAlarm(ManualReactor& owner, std::function<void(Instant)> action)
        : reactor(owner), ring(std::move(action)) {
      reactor.alarms_.push_back(this);
    }
    ~ManualAlarm() override { std::erase(reactor.alarms_, this); }
    void set(Instant at) override { when = at; }

    ManualReactor& reactor;
    std::function<void(Instant)> ring;
    Instant when = Instant::max();
  };

  std::vector<ManualAlarm*> alarms_;
};

}  // namespace weir
