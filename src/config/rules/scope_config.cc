// Decides which rules may count over all places.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/rules/rule_config.h"
#include "rules/promise.h"

namespace weir {
namespace {

// The field with the reason, and the reason why not; nothing if it can.
struct Objection {
  std::string_view field;
  std::string_view reason;
};
std::optional<Objection> against_world(const SectionReader& reader, const RuleContext& context,
                                       const Rule& rule) {
  if (context.served_by == ServedBy::kGateway) {
    return Objection{"scope",
                     "is not for nginx's workers, which share limits in their own place alone; "
                     "remove it, or serve the rule by weir serve"};
  }
  if (!context.knows_world) {
    return Objection{"scope",
                     "needs the Redis that all places reach; add 'world: redis://HOST' to 'store', "
                     "or remove 'scope'"};
  }
  if (reader.is_set("mode") && rule.mode != Mode::kAsync) {
    return Objection{"mode",
                     "counts in mode async, as no check waits for another place; write 'mode: "
                     "async', or remove 'mode'"};
  }
  bool are_copied = true;
  for_each_limits(rule, [&](std::span<const Quota> limits) {
    are_copied =
        are_copied && std::ranges::all_of(limits, [](const Quota& limit) {
          return !limit.is_never_over() && !limit.switches() && is_copied(limit.algorithm());
        });
  });
  if (!are_copied) {
    return Objection{"scope",
                     "needs counters that each node copies; write 'algorithm: sliding_window', "
                     "fixed_window or token_bucket, without 'bound'"};
  }
  if (rule.holds_max > 0) {
    return Objection{"max_holds",
                     "counts in many nodes, and none knows what all hold; remove 'max_holds'"};
  }
  if (!rule.is_proportional) return std::nullopt;
  return Objection{"enforce", "counts no denied requests; remove 'enforce: proportional'"};
}

}  // namespace

bool read_scope(const SectionReader& reader, const RuleContext& context, Rule& rule) {
  const bool is_world = reader.get<std::string>("scope") == "world";
  if (!is_world || rule.effect == Rule::Effect::kConcurrency) return true;
  const auto objection = against_world(reader, context, rule);
  rule.mode = Mode::kWorld;
  if (!objection) return true;
  reader.mistake(objection->field, "'scope: world' " + std::string(objection->reason));
  return false;
}

}  // namespace weir
