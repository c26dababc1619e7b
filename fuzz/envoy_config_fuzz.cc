// Feeds bytes to the loader of the reference service's YAML. A file that it takes becomes a rule
// set, which is asked about a descriptor made for each of its rules.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "config/envoy/envoy_config.h"
#include "rules/rule_key.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

void check_errors(const ConfigErrors& errors) {
  WEIR_ASSERT(!errors.empty() && errors.size() <= kConfigErrorsMax + 1);
  for (const ConfigError& error : errors) {
    WEIR_ASSERT(error.line >= 1 && error.column >= 1 && !error.message.empty());
    WEIR_ASSERT(error.to_string().find('\n') == std::string::npos);
  }
}

void look_for(const RuleSet& rules, const Rule& rule) {
  std::vector<NameValue> entries;
  for (const DescriptorEntry& entry : rule.descriptor->entries) {
    const std::string_view value = entry.value ? std::string_view(entry.value->text) : "any";
    entries.push_back({.name = entry.key, .value = value});
  }
  if (entries.empty()) return;
  const Rule* const found =
      rules.match(Descriptor{.domain = rule.descriptor->domain, .entries = entries});
  if (found == nullptr) return;  // a sibling that comes first may lead elsewhere
  std::string scratch;
  key_of(*found, Descriptor{.domain = rule.descriptor->domain, .entries = entries}, scratch);
}

void check_rules(std::vector<Rule> loaded) {
  if (descriptor_conflict(loaded)) return;
  const RuleSet rules(std::move(loaded));
  for (const Rule& rule : rules.rules()) {
    WEIR_ASSERT(rules.find(rule.id) == &rule);
    WEIR_ASSERT(rule.descriptor && rules.has_domain(rule.descriptor->domain));
    look_for(rules, rule);
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parsed = weir::parse_envoy_config(text, "fuzz.yaml", weir::Algorithm::kFixedWindow);
  if (!parsed) {
    weir::check_errors(parsed.error());
  } else {
    weir::check_rules(*std::move(parsed));
  }
  return 0;
}
