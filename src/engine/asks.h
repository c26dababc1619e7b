// Asks: what a door wants decided, in the words of rules, and the answers.
//
// A door names a rule and a key, or brings a quota of its own. All that a rule says is
// done here, alike for every door, in this order:
//
//   not in force, unlimited, exempt  allowed, nothing counted
//   on the rule's deny list          denied for good, nothing counted
//   on its allow list                allowed, nothing counted
//   blocked                          denied until the block ends, nothing counted
//   the limits for this key          an override's, its tier's or the rule's own; all of
//                                    them hold, and a denial by one charges none
//   shadow                           a denial counts as one and lets pass
//   a denial                         may block the key
//
// Where the counters are depends on the mode: the call's, else the rule's, else the node's.
// If the store of a mode fails, the rule says what happens: this node decides by its share
// of the limit, from counters in its own memory, which the stores keep warm; or all is
// allowed, or denied.
//
// Up to 16 asks are decided together: each by itself (kSpendEach), or all or nothing
// (kSpendAll), where an ask of a shadow rule neither denies nor is charged if others do.
// If kSpendAll spans modes, each mode is charged in turn, and given back if a later one
// denies.
//
// Thread rule: one core; reused, so that deciding allocates nothing.
// Tested by asks_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "engine/immediate_check.h"
#include "engine/visit.h"
#include "observe/rule_counts.h"
#include "rules/rule.h"
#include "weir/decision.h"
#include "weir/quota.h"
#include "weir/store.h"

namespace weir {

// Has the answers of these rules counted from now on.
void number_rules(std::vector<Rule>& rules, RuleCounts& counts);

// One thing to be decided. Its texts must outlive add().
struct Ask {
  const Rule* rule = nullptr;  // null: the limit is `quota`
  Quota quota{};
  std::string_view bucket{};
  std::string_view key{};
  std::string_view tier{};
  std::optional<IpAddress> client{};  // for lists of networks; else the key is looked at
  std::int64_t cost = 1;
  std::optional<Mode> mode{};  // none: the rule's, or the node's
};

struct Answer {
  enum class Cause : std::uint8_t {
    kCounted,
    kNotCounted,  // disabled, unlimited, exempt, on the allow list; or a quota's look
    kDenyList,
    kBlocked,
    kStoreFailed,  // the rule says what then
  };

  Cause cause = Cause::kCounted;
  Decision decision{};
  // The limit that the decision is about: of several the one that presses most.
  Quota quota{};
  // What the counters said, before shadow let it pass.
  bool over = false;
  // Where the counters are; kLocal as well if the store of the mode failed.
  Mode mode = Mode::kLocal;

  bool allowed() const { return decision.allowed(); }
};

// Whether a client should rather hear of `one` than of `other`: of a denial before anything
// allowed, of the denial that lasts longest, else of the least that is left.
bool presses_more(const Decision& one, const Decision& other);

class Asks {
 public:
  static constexpr std::size_t kAsksMax = Batch::kChargesMax;

  // Both must outlive this.
  Asks(Engine& engine, BlockList& blocks) : engine_(engine), blocks_(blocks) {}

  void begin(Operation operation);

  // False, and nothing is added, if there is no room for another: of kSpendAll all limits
  // of all asks must fit into one batch.
  bool add(const Ask& ask);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // False if there is no answer, and answers() mean nothing: the store could not give one,
  // or, if engine.waits(), not yet.
  bool decide(Instant now);

  // Parallel to the asks.
  std::span<const Answer> answers() const { return {answers_.data(), size_}; }

 private:
  // Asks that are decided in one batch.
  using Members = std::span<const std::uint8_t>;
  class Group;
  using Progress = Visit::Progress;
  enum class Sign : std::uint8_t { kSpend, kGiveBack };

  bool settle_uncounted(std::size_t index, Instant now);
  Progress decide_apart(Members asks, Operation operation, Instant now);
  Progress decide_singles(Members asks, Operation operation, Mode mode, Instant now);
  Progress decide_leased(Members asks, Operation operation, Instant now);
  Progress decide_one_by_one(Members asks, Operation operation, Instant now);
  Progress decide_together(Instant now);
  Progress decide_modes(Members asks, Operation operation, Instant now);
  Progress take_back(Members asks, Instant now);
  Progress ask(Store& store, Operation operation, const Check*& answered, Instant now);
  bool all_allowed(Members asks) const;
  Progress decide_batch(Members asks, Operation operation, Instant now);
  Progress fall_back(Members asks, Operation operation, Instant now);
  Progress put(Members asks, Operation operation, Sign sign, Mode mode, const Check*& answered,
               Instant now);
  Progress put_at_hand(Members asks, Operation operation, const Check*& answered, Instant now);
  void fill(Check& check, Members asks, Sign sign, Mode mode) const;
  void take_decisions(Members asks, const Check& check, Mode mode);
  bool fell_back(std::size_t index) const;
  void record(std::size_t index, Instant now);
  bool has_charged() const;
  void tell_admitted_alone(Instant now);
  std::uint64_t tag_of(std::size_t index) const;
  void block_denied(const Ask& ask, Instant now);
  std::optional<Decision> spend_one(const Ask& ask, std::string_view purpose, const Quota& quota,
                                    Instant now);

  Engine& engine_;
  BlockList& blocks_;
  ImmediateCheck check_;
  Operation operation_ = Operation::kSpendEach;
  std::array<Ask, kAsksMax> asks_;  // of their texts only the key, if there is a rule
  std::array<std::string, kAsksMax> keys_;
  std::array<std::array<KeyHash, Rule::kLimitsMax>, kAsksMax> hashes_;  // of each limit
  std::array<Answer, kAsksMax> answers_;
  std::array<std::span<const Quota>, kAsksMax> limits_;  // of each ask
  std::array<Mode, kAsksMax> modes_;                     // in which each is to be decided
  Modes modes_in_use_;
  std::size_t size_ = 0;
  std::size_t joint_limits_ = 0;  // of kSpendAll
};

}  // namespace weir
