// Scenarios of simulations. Whatever the bytes are, there is a scenario, or there are mistakes with
// a place in the file. A scenario is the same when it is written and read again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "simulate/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const auto scenario =
      sim::read_scenario({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!scenario) {
    WEIR_ASSERT(!scenario.error().empty());
    for (const ConfigError& error : scenario.error()) {
      WEIR_ASSERT(error.line >= 1 && error.column >= 1);
      WEIR_ASSERT(error.to_string().starts_with("fuzz.yaml:"));
    }
    return 0;
  }
  WEIR_ASSERT(sim::means_of(*scenario));
  const std::string written = sim::to_yaml(*scenario);
  const auto again = sim::read_scenario(written, "written.yaml");
  WEIR_ASSERT(again && sim::to_yaml(*again) == written);
  return 0;
}
