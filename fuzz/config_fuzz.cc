// Feeds bytes to the configuration loader: whatever they are, there is either a
// configuration, or errors that can be printed with a place in the file.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "config/config.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

void check_errors(const ConfigErrors& errors) {
  WEIR_ASSERT(!errors.empty() && errors.size() <= kConfigErrorsMax + 1);
  for (const ConfigError& error : errors) {
    WEIR_ASSERT(error.line >= 1 && error.column >= 1);
    WEIR_ASSERT(!error.message.empty());
    const std::string line = error.to_string();
    WEIR_ASSERT(line.starts_with("fuzz.yaml:"));
    WEIR_ASSERT(line.find('\n') == std::string::npos);
  }
}

void check_config(const Config& config) {
  const RuleSet rules(config.rules);  // asserts that ids are unique
  for (const Rule& rule : rules.rules()) WEIR_ASSERT(rules.find(rule.id) == &rule);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = weir::parse_config(text, "fuzz.yaml");
  if (!parsed) {
    weir::check_errors(parsed.error());
  } else {
    weir::check_config(*parsed);
  }
  return 0;
}
