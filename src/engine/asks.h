// Asks: all that one request wants decided, in the words of rules, and the answers.
//
// A door names a rule and a key, or brings a quota of its own. All that a rule says is
// done here, alike for every door, in this order:
//
//   not in force, unlimited, exempt  allowed, nothing counted
//   on the rule's deny list          denied for good, nothing counted; of a request that repeats
//                                    its key, any of the values counts here and for blocks
//   on its allow list                allowed, nothing counted
//   without a part of its key        denied for good, nothing counted, if the rule says so
//   blocked, by the rule or for all  denied until the block ends, nothing counted; a limit
//                                    without a rule, too, if it is for all
//   concurrency                      as many may be under way; the door says how many are
//   the limits for this key          an override's, its tier's or the rule's own, or a part of
//                                    them while the rule's traffic is unusual; all of them hold,
//                                    and a denial by one charges none
//   overdraft                        the cost counts, whether or not it fits; a denial says so
//   shadow                           a denial counts as one and lets pass
//   a denial                         may block the key, and then says how long
//
// The mode says where the counters are: the call's mode, else the rule's, else the node's.
// If the store of a mode fails, the rule says what happens: this node decides by its share
// of the limit, from counters in its own memory, which the stores keep warm; or all is
// allowed, or denied.
//
// Each ask is decided by itself (kSpendEach), or all or nothing (kSpendAll), where an ask of
// a shadow rule neither denies nor is charged if others do. What counts always is charged first,
// whatever the others say, and what only looks is asked first; if one of them denies, no other is
// charged. Asks of kCharge are charges of requests that were decided before: each counts always,
// may block its key, and is in no figure, where the request is already. Everything is asked before
// anything is waited for. Two modes, all or nothing, over a Redis 5 ms away:
//
//      0 ms  decide(): local rules are charged in memory; the others leave in one batch, in
//            the strictest of their modes
//     10 ms  the batch is denied: what memory was charged goes back
//            the batch is allowed: shadow rules are asked, which may take a second trip
//
// The asks of a request that goes away are decided to the end; nobody reads the answers.
//
// Thread rule: one core; reused, so that deciding allocates nothing once it has grown.
// Tested by asks_test.cc, asks_surge_test.cc and asks_modes_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/ask.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "rules/rule_set.h"
#include "weir/store.h"

namespace weir {

class AsksPool;

// How much of the rule's limits holds now: less than 100 while its traffic is unusual, if it says
// so.
std::int64_t limit_percent(const Rule& rule, const Engine& engine);

class Asks final : Engine::Asker {
 public:
  static constexpr std::size_t kAsksMax = 256;
  static constexpr std::size_t kKeyKeptMax = 4096;  // bytes of memory kept for the next key

  enum class Progress : std::uint8_t {
    kAnswered,
    kUnavailable,  // a store could not answer, and the answers that it counts mean nothing
    kWaits,        // the listener is called when this changes
  };
  class Listener {
   public:
    virtual void decided() noexcept = 0;

   protected:
    ~Listener() = default;
  };

  // Both must outlive this.
  Asks(Engine& engine, BlockList& blocks, AsksPool* pool = nullptr);
  ~Asks();
  Asks(const Asks&) = delete;
  Asks& operator=(const Asks&) = delete;

  void begin(Operation operation);

  // Memory for the key of the next ask, which add() then need not copy.
  // REQUIRES: size() < kAsksMax
  std::string& next_key();

  // False, and nothing is added, if there is no room for another: of kSpendAll all limits
  // of all asks must fit into one batch, those in shadow aside.
  bool add(const Ask& ask);
  // Whether an ask of the same rule, key and tier was added: two readings of a path may lead there.
  bool has(const Ask& ask) const;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Asks everything. REQUIRES: since begin() it was not called
  Progress decide(Instant now);
  // After kWaits. The listener is called once, at the latest when the stores' patience ends.
  void listen(Listener& listener) { listener_ = &listener; }
  Progress progress() const { return progress_; }
  // The progress, for a listener that was called.
  Progress go_on(Instant) const { return progress_; }

  const Ask& ask(std::size_t index) const { return items_[index]->ask; }
  const Answer& answer(std::size_t index) const { return items_[index]->answer; }
  // Each limit of an ask that has several, and what was decided of it; nothing where there is but
  // one, or where the answer is not about counters.
  struct Limits {
    std::span<const Quota> quotas;
    std::span<const Decision> decisions;
  };
  Limits limits(std::size_t index) const;

 private:
  friend class AsksPool;
  friend struct ReturnAsks;

  enum class Role : std::uint8_t {
    kUncounted,  // answered without a counter
    kApart,      // counted by itself, first: whether or not it fits, what is left, or nothing
    kHere,       // counted together with others in this node's memory
    kShared,     // counted together with others by the store of a mode
    kAlone,      // counted by itself; of all or nothing, when the others are decided
  };
  enum class Stage : std::uint8_t { kApart, kTogether, kAlone, kDone };
  enum class Sign : std::uint8_t { kSpend, kGiveBack };

  struct Item {
    Ask ask;  // of its texts only key and tier, if there is a rule
    std::string key;
    std::string tier;
    std::string bucket;  // while the engine awaits a hasher, as key without a rule
    std::span<const Quota> limits;
    std::vector<Quota> changed;  // limits of a surge, or with room to wait; memory is kept
    std::array<Quota, Rule::kLimitsMax> followed;  // those with an adaptive one, as of now
    HashedName name;
    std::array<KeyHash, Rule::kLimitsMax> hashes;  // of each limit
    std::vector<Decision> decisions;               // of each limit, if there are several
    Mode mode = Mode::kLocal;                      // in which it is to be decided
    Role role = Role::kHere;
    Answer answer;

    bool is_shadow() const { return ask.rule != nullptr && ask.rule->shadow; }
    // Charges that are kept in one place.
    std::uint64_t tag() const { return limits.size() > 1 ? hashes.front().low : 0; }
  };

  // All that were added.
  std::span<const std::unique_ptr<Item>> items() const { return std::span(items_).first(size_); }

  using Members = std::span<const std::uint8_t>;
  class Group;
  class Part;

  Item& next_item() {
    if (size_ == items_.size()) add_room();
    return *items_[size_];
  }
  void add_room();
  HashedName name_of(const Ask& ask) const;
  void decide_one_here(Instant now);
  Progress run(Instant now);
  void keep_rules();
  void forget_long_keys() noexcept;
  void answered(Instant now) override;

  void take_limits(Item& item, const Ask& ask) const;
  void follow_switches(Item& item) const;
  static Decision blocked_until(Instant until, const Quota& quota, Instant now);
  static Decision refused(const Quota& quota);
  static Decision untouched(const Quota& quota);  // as if the key had never been seen
  std::optional<Answer> settle_by_rule(const Item& item, Instant now) const;
  bool settle_under_way(Item& item) const;
  static void leave_units(Item& item);
  bool settle_uncounted(Item& item, Instant now) const;
  Operation own_operation(const Ask& ask) const;
  Role role_of(const Item& item) const;
  Group members(Role role) const;
  bool all_allowed(Role role) const;

  // Each stage asks all that it has to ask; the next begins when all is answered.
  void ask_next(Instant now);
  void ask_apart(Instant now);
  void ask_together(Instant now);
  void ask_alone(Instant now);

  // The asks of a batch are of one mode.
  void ask_each(Members asks, Operation operation, Instant now);
  void ask_singles(Members asks, Mode mode, Operation operation, Instant now);
  void ask_store(Members asks, Mode mode, Operation operation, Instant now);
  bool ask_at_hand(Members asks, Operation operation, Instant now);
  void decide_here(Members asks, Operation operation, Sign sign, Instant now);
  void fall_back(Members asks, Operation operation, Instant now);

  void make_room_for_a_part();
  Part& next_part(Members asks, Mode mode, Operation operation);
  void read_parts(Instant now);
  void fill(Check& check, Members asks, Sign sign, std::int64_t nodes) const;
  void take_decisions(Members asks, const Check& check, Mode mode);

  // Draws the consequences of the answers, once: figures, blocks, reports to the fleet.
  void conclude(Instant now);
  void record(const Item& item, Instant now);
  void block_for_denial(Item& item, Instant now);
  void remember_denial(const Item& item, Instant now);
  void record_ruleless(const Item& item, Instant now);
  bool has_charged() const;
  void report_counted_alone(Instant now);
  void report(const Item& item, Instant now);

  Engine& engine_;
  BlockList& blocks_;
  AsksPool* const pool_;   // null: somebody else's member
  std::size_t place_ = 0;  // in the pool
  Listener* listener_ = nullptr;
  RuleSetPtr rules_;           // which the asks refer to: a reload may come between
  bool is_abandoned_ = false;  // nobody reads the answers

  ImmediateCheck check_;
  Operation operation_ = Operation::kSpendEach;
  std::vector<std::unique_ptr<Item>> items_;  // they keep their places; spare ones behind
  std::size_t size_ = 0;
  std::size_t joint_limits_ = 0;  // of kSpendAll
  bool any_apart_ = false;
  Modes modes_in_use_;
  bool all_here_ = false;  // what is counted is in this node's memory, together

  Progress progress_ = Progress::kAnswered;
  Stage stage_ = Stage::kDone;
  bool is_unavailable_ = false;
  bool allowed_ = true;                     // of kSpendAll: all that is decided so far
  Operation joint_ = Operation::kSpendAll;  // kLook once something is denied
  Instant give_up_at_{};
  std::vector<std::unique_ptr<Part>> parts_;  // those of this stage, and spare ones
  std::size_t parts_used_ = 0;
  std::size_t open_ = 0;    // parts that are asked and not answered
  bool is_asking_ = false;  // what is answered now is read at the end of the stage
};

}  // namespace weir
