#include "simulate/checks.h"

#include "simulate/promises.h"
#include "simulate/world.h"

namespace weir::sim {

void Check::fail(const std::string& what) { world_.fail(promise(), what); }

std::vector<std::unique_ptr<Check>> make_checks(World& world) {
  std::vector<std::unique_ptr<Check>> checks;
  checks.push_back(make_never_over(world));
  checks.push_back(make_counts_exactly(world));
  checks.push_back(make_alone_within_share(world));
  checks.push_back(make_async_stops(world));
  checks.push_back(make_units_come_back(world));
  checks.push_back(make_answered_in_time(world));
  checks.push_back(make_retry_truthful(world));
  checks.push_back(make_blocks_reach_all(world));
  checks.push_back(make_memory_bounded(world));
  checks.push_back(make_recovers(world));
  checks.push_back(make_what_fits_is_admitted(world));
  checks.push_back(make_holds_count(world));
  checks.push_back(make_slots_on_lease(world));
  checks.push_back(make_tenants_agree(world));
  checks.push_back(make_misjudged(world));
  return checks;
}

}  // namespace weir::sim
