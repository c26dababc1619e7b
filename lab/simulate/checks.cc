#include "simulate/checks.h"

#include "simulate/promises.h"
#include "simulate/world.h"

namespace weir::sim {

void Check::fail(const std::string& what) { world_.fail(promise(), what); }

// In this order: of what fails at once, the first is told.
Checks make_checks(World& world) {
  Checks checks;
  add_admission_checks(world, checks);
  add_count_checks(world, checks);
  add_fleet_checks(world, checks);
  add_fit_checks(world, checks);
  add_hold_checks(world, checks);
  add_slot_checks(world, checks);
  add_tenant_checks(world, checks);
  add_misjudged_checks(world, checks);
  return checks;
}

}  // namespace weir::sim
