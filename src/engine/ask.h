// Ask: one thing that a door wants decided, in the words of rules; and its Answer.
//
// Thread rule: values. Tested by src/engine/asks/asks_test.cc.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "observe/rule_counts.h"
#include "rules/key_choices.h"
#include "rules/rule.h"
#include "rules/rule_key.h"
#include "rules/rule_set.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/result.h"
#include "weir/store.h"

namespace weir {

class TenantTable;

// Gives each rule the number under which its answers count.
void number_rules(std::vector<Rule>& rules, RuleCounts& counts);

// The rule must live until the answer is there; the texts for Asks::add() only, but for
// `echo`, which Asks does not read.
struct Ask {
  const Rule* rule = nullptr;  // null: the limit is `quota`
  Quota quota{};
  std::string_view bucket{};
  std::string_view key{};
  std::string_view tier{};
  // What key and tier may be instead, if the request repeats a part of them.
  std::shared_ptr<const KeyChoices> choices{};
  // kRefused: the request lacks a part of the key, without which the rule denies it.
  enum class KeyState : std::uint8_t { kGood, kRefused } key_state = KeyState::kGood;
  // Whose request it is, if that is known, for lists of networks.
  std::optional<IpAddress> client{};
  // A caller that names the key may mean an address by it. A key made of a request may be a
  // header of the client's own choice.
  enum class KeyOrigin : std::uint8_t { kCaller, kRequest } key_origin = KeyOrigin::kCaller;
  // By a rule that limits what is under way: how many requests would be, with this one; 0: this one
  // is not counted.
  std::int64_t cost = 1;
  // Whether the cost counts only if it fits, or always, as Operation::kCharge of weir/store.h has
  // it: for work that is done. Or else takes what is left, as Operation::kDrain has it. kNothing:
  // the answer is that of a look, next to others that spend.
  enum class Counting : std::uint8_t {
    kAsTheRuleSays,
    kIfItFits,
    kAlways,
    kOrWhatIsLeft,
    kNothing,
  };
  Counting counting = Counting::kAsTheRuleSays;
  // No other request of the key is under way: this one may take all of a limit that is lower.
  bool is_alone = false;
  // How many requests of the key are under way, this one among them; 0: nobody knows. For a look,
  // in all or nothing: how many units are reserved for requests under way whose response may count,
  // this one among them. So many have to be left.
  std::int64_t under_way = 0;
  // For so long, by what the rule says of delays, may the request wait for its turn: by a rule
  // whose only limit is a token bucket.
  Duration patience{0};
  std::optional<Mode> mode{};  // none: the rule's, or the node's
  std::string_view echo{};     // the door's own: text of the request that its reply repeats

  // Whether a denial lets pass. A request that may have several keys cannot choose one that does.
  bool is_shadow() const {
    if (rule == nullptr || rule->enforced_percent == 100) return rule != nullptr && rule->shadow;
    return choices == nullptr ? rule->spares(key) : rule->shadow;
  }
  bool counts_nothing() const { return counting == Counting::kNothing; }
  bool counts_always(std::int64_t units) const {
    if (units <= 0 || counts_nothing() || counting == Counting::kIfItFits) return false;
    if (counting == Counting::kOrWhatIsLeft) return false;
    return counting == Counting::kAlways || (rule != nullptr && rule->counts_always(units));
  }
  // How it is charged by itself, whatever becomes of the others of its request. kSpendEach: it goes
  // along with them.
  Operation own_operation() const {
    if (counts_nothing()) return Operation::kLook;
    if (counting == Counting::kOrWhatIsLeft && cost > 0) return Operation::kDrain;
    return counts_always(cost) ? Operation::kCharge : Operation::kSpendEach;
  }

  // The rule's lists. If a request repeats its key, any value may be on the deny list.
  // REQUIRES: rule != nullptr
  bool is_on_deny_list() const {
    const bool may_be = choices != nullptr || !rule->deny.empty();
    return may_be && is_denied_by_name();
  }
  bool is_on_allow_list() const { return !rule->allow.empty() && is_allowed_by_name(); }

 private:
  bool is_denied_by_name() const;
  bool is_allowed_by_name() const;
};

// Makes of a new ask that of a rule that applies to a request: its key, tier and cost. It refers to
// the rule, the request and the two scratches.
void ask_about(const Rule& rule, const Request& request, std::string& key, PartScratch& tier,
               Ask& ask);

// For how long units are to be held for the ask, as a text says it; else what it might have said.
// `tenants`: what the engine has. REQUIRES: it has a rule
Result<Duration, std::string> hold_length(std::string_view text, const Ask& ask,
                                          const TenantTable* tenants);

// A number in a text of the request, which only ever makes it dearer: never 0 or less.
std::int64_t cost_in(std::string_view text);

struct Answer {
  enum class Cause : std::uint8_t {
    kCounted,
    kNotCounted,  // disabled, unlimited, exempt, on the allow list; or a quota's look
    kDenyList,
    kMissingKey,  // the rule denies requests that lack a part of its key
    kBlocked,
    kUnderWay,     // so many requests of the key are
    kStoreFailed,  // the rule says what then
  };

  Cause cause = Cause::kCounted;
  Decision decision{};
  // For so long has a request that is allowed to wait until it may go on.
  Duration wait{0};
  // By a rule that is proportional: the units that its key was offered in a window; 0: unknown.
  std::int64_t offered = 0;
  // The limit that the decision is about: of several the one that presses most.
  Quota quota{};
  // What the counters said, before shadow let it pass.
  bool over = false;
  // Where the counters are; kLocal as well if the store of the mode failed.
  Mode mode = Mode::kLocal;
  // It failed: this node has decided alone, or the rule has, as its on_store_failure says.
  bool is_alone = false;

  bool allowed() const { return decision.allowed(); }
};

// Whether a client should learn `one` before `other`: a denial before anything allowed, the
// denial that lasts longest, else the least that is left.
bool presses_more(const Decision& one, const Decision& other);

}  // namespace weir
