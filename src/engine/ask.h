// Ask: a door's question about one rule, or about a quota of the door's own; and its Answer.
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
#include "weir/store.h"

namespace weir {

// Gives each rule the number under which its answers count.
void number_rules(std::vector<Rule>& rules, RuleCounts& counts);

// The rule must live until the answer is there. Without a rule, `key` must live until decide() or
// keep() returns; other texts, until Asks::add() does. Asks does not read `echo`.
struct Ask {
  const Rule* rule = nullptr;  // null: the limit is `quota`
  Quota quota{};
  std::string_view bucket{};
  std::string_view key{};
  std::string_view tier{};
  // The keys and tiers that the request may mean, if it repeats a part of them.
  std::shared_ptr<const KeyChoices> choices{};
  // kRefused: the request lacks a part of the key, and the rule denies such requests.
  enum class KeyState : std::uint8_t { kGood, kRefused } key_state = KeyState::kGood;
  // The client's address, if known, for lists of networks.
  std::optional<IpAddress> client{};
  // A caller that names the key may mean an address by it. In a key made from a request, an address
  // may be a text of the client's choice.
  enum class KeyOrigin : std::uint8_t { kCaller, kRequest } key_origin = KeyOrigin::kCaller;
  // The units. If the rule limits requests under way: how many there are, with this one; 0: this
  // one is not counted.
  std::int64_t cost = 1;
  // Whether the cost counts only if it fits, or always, as Operation::kCharge of weir/store.h, for
  // work that is done. kOrWhatIsLeft: takes what is left, as Operation::kDrain. kNothing: only
  // looks, next to asks that spend.
  enum class Counting : std::uint8_t {
    kAsTheRuleSays,
    kIfItFits,
    kAlways,
    kOrWhatIsLeft,
    kNothing,
  };
  Counting counting = Counting::kAsTheRuleSays;
  // Whether no other request of the key is under way. Then this one may take all of a lower limit.
  bool is_alone = false;
  // The number of the key's requests under way, with this one; 0: unknown. For a look in all or
  // nothing: the units reserved for requests under way whose response may count, with this one. So
  // many units must be left.
  std::int64_t under_way = 0;
  // How long the rule lets the request wait for its turn. Only for a rule whose only limit is a
  // token bucket.
  Duration patience{0};
  std::optional<Mode> mode{};  // empty: the rule's mode, or the node's
  std::string_view echo{};     // for the door alone: a text of the request that its reply repeats

  // Whether denials let pass. A request with several possible keys cannot choose a spared one.
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
  // How the ask is charged when it is decided apart from the others of its request. kSpendEach: it
  // is decided together with them.
  Operation own_operation() const {
    if (counts_nothing()) return Operation::kLook;
    if (counting == Counting::kOrWhatIsLeft && cost > 0) return Operation::kDrain;
    return counts_always(cost) ? Operation::kCharge : Operation::kSpendEach;
  }

  // Whether the rule's lists hold the key. If a request repeats its key, any of the keys may be on
  // the deny list. REQUIRES: rule != nullptr
  bool is_on_deny_list() const {
    const bool may_be = choices != nullptr || !rule->deny.empty();
    return may_be && is_denied_by_name();
  }
  bool is_on_allow_list() const { return !rule->allow.empty() && is_allowed_by_name(); }

 private:
  bool is_denied_by_name() const;
  bool is_allowed_by_name() const;
};

// Fills a new ask for a rule that applies to a request: key, tier and cost. The ask refers to the
// rule, the request and the two scratches.
void ask_about(const Rule& rule, const Request& request, std::string& key, PartScratch& tier,
               Ask& ask);

// Reads a number from a text of the request. It may only make the request dearer: never 0 or less.
std::int64_t cost_in(std::string_view text);

struct Answer {
  enum class Cause : std::uint8_t {
    kCounted,
    kNotCounted,  // disabled, unlimited, exempt, on the allow list; or a quota's look
    kDenyList,
    kMissingKey,  // the rule denies requests that lack a part of its key
    kBlocked,
    kUnderWay,     // as many requests of the key are under way as may be
    kStoreFailed,  // the rule says what happens then
  };

  Cause cause = Cause::kCounted;
  Decision decision{};
  // How long a request that is allowed must wait before it may go on.
  Duration wait{0};
  // By a rule that is proportional: the units that the key was offered in a window; 0: unknown.
  std::int64_t offered = 0;
  // The limit of the decision: of several limits, the one that presses most.
  Quota quota{};
  // Whether the counters denied, even if shadow lets the request pass.
  bool over = false;
  // The mode of the counters; kLocal also if the store of the mode failed.
  Mode mode = Mode::kLocal;
  // The store failed: this node decided alone, or the rule did, as its on_store_failure says.
  bool is_alone = false;

  bool allowed() const { return decision.allowed(); }
};

inline constexpr int kTooManyRequests = 429;

// The status with which a host of HTTP answers denials.
struct DenialStatus {
  enum class Whose : std::uint8_t {
    kOfRule,  // the rule's own, or `status` if the rule names none
    kOfHost,  // always `status`: the host's proxy understands no other
  };

  int status = kTooManyRequests;
  Whose whose = Whose::kOfRule;

  int of(const Rule& rule) const {
    return rule.denial.status != 0 && whose == Whose::kOfRule ? rule.denial.status : status;
  }
};

// Whether a client should learn of `one` before `other`: first denials, the longest first; then
// allowed decisions, the one with the least left first.
bool presses_more(const Decision& one, const Decision& other);

}  // namespace weir
