// Faults: break parts of a simulation at their times, and heal them.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "simulate/world.h"

namespace weir::sim {

class Faults {
 public:
  explicit Faults(World& world);

 private:
  void begin(const Fault& fault, std::size_t index);
  void end(const Fault& fault);
  void for_each_node(const Fault& fault, const std::function<void(std::size_t)>& act);
  void break_path(const Fault& fault, bool is_broken);

  World& world_;
  std::vector<std::unique_ptr<Task>> begins_;
  std::vector<std::unique_ptr<Task>> ends_;
};

}  // namespace weir::sim
