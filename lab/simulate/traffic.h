// Traffic: the clients of a simulation. Each source asks at its own times.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <memory>
#include <vector>

#include "simulate/world.h"

namespace weir::sim {

class Traffic {
 public:
  explicit Traffic(World& world);
  ~Traffic();

 private:
  class Works;
  class Source;
  class Steps;
  std::vector<std::unique_ptr<Source>> sources_;
  std::unique_ptr<Steps> steps_;
};

}  // namespace weir::sim
