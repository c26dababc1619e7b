// The promises that are checked, by the file that has their classes and says them.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include "simulate/checks.h"

namespace weir::sim {

template <typename... Kinds>
void add(World& world, Checks& checks) {
  (checks.push_back(std::make_unique<Kinds>(world)), ...);
}

void add_admission_checks(World& world, Checks& checks);
void add_count_checks(World& world, Checks& checks);
void add_fleet_checks(World& world, Checks& checks);
void add_fit_checks(World& world, Checks& checks);  // count_checks.cc
void add_hold_checks(World& world, Checks& checks);
void add_slot_checks(World& world, Checks& checks);
void add_tenant_checks(World& world, Checks& checks);
void add_misjudged_checks(World& world, Checks& checks);  // count_checks.cc

}  // namespace weir::sim
