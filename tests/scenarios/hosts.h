// Hosts: what can be asked what a scenario says. Each says of a step whether it can put it into
// words of its own. All hosts of a world share its engine, and so its counters.
//
// Thread rule: one thread. Tested by scenarios_test.cc, which asks all of them.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/session.h"
#include "scenarios/scenario.h"
#include "weir/clock.h"
#include "weir/store.h"

namespace weir::scenarios {

class Host {
 public:
  explicit Host(std::string_view name) : name_(name) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  virtual bool can_say(const Step& step, const Scenario& scenario) const = 0;
  // What each question of the step is answered; of a request, the request.
  // REQUIRES: can_say(step)
  virtual std::vector<Outcome> ask(const Step& step, Instant now) = 0;

  std::string_view name() const { return name_; }

 private:
  const std::string_view name_;
};

// What a new connection of `door` answers to `bytes`.
std::string converse(SessionFactory& door, std::string_view bytes, Instant now,
                     const Peer& peer = {});

class SetClock final : public Clock {
 public:
  Instant now() const noexcept override { return at; }
  Instant at{};
};

// An engine over a store in memory, and its hosts: the engine itself, each door, the library; at
// last the host that asks one door after another.
class World {
 public:
  World(const Scenario& scenario, Instant now);
  ~World();

  const std::vector<std::unique_ptr<Host>>& hosts() const { return hosts_; }
  void block(const Step& step, Instant now);

  SessionFactory& http();
  SessionFactory& resp();
  Store& store();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

}  // namespace weir::scenarios
