// Asks: asks the stores for a round, step by step, and waits for answers that come later.
//
// A door names a rule and a key, or brings its own quota. The engine does what rules say in four
// parts, alike for every door. settle.h answers asks that need no counter. plan.h chooses steps for
// the rest, Asks asks the stores, and conclude.h acts on the answers. In between:
//
//   the limits for this key  an override's, its tier's or the rule's own, or a part of them while
//                            the rule's traffic is unusual; all of them hold, and a denial by one
//                            charges none
//   overdraft                the cost counts, whether or not it fits; a denial says so
//   proportional             what the key is offered is counted first; what is above the share
//                            that passes is denied at once (proportion.h)
//   shadow                   a denial counts as one and lets pass
//   a denial                 may block the key, and then says how long
//
// The mode says where the counters are: the call's mode, else the rule's, else the node's. If the
// store of a mode fails, the rule says what happens: all is allowed, all is denied, or this node
// decides by its share of the limit. It counts its share in its own memory, which the stores keep
// current.
//
// Asks of kCharge are charges of requests that were decided before. Each always counts and may
// block its key. It is in no figure: the request is there already. If a request goes away, its asks
// are still decided, but nobody reads the answers.
//
// Thread rule: one core; reused, so that deciding allocates nothing once it has grown.
// Tested by asks_test.cc, asks_surge_test.cc and asks_modes_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/asks/plan.h"
#include "engine/asks/round.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "engine/holds/shared_holds.h"
#include "engine/holds/shared_token.h"
#include "rules/rule_set.h"
#include "weir/holding_store.h"
#include "weir/store.h"

namespace weir {

class AsksPool;

// check:allow(methods): the steps of asking share what is under way
class Asks final : Engine::Asker {
 public:
  static constexpr std::size_t kAsksMax = Round::kItemsMax;

  enum class Progress : std::uint8_t {
    kAnswered,
    kUnavailable,  // a store could not answer; answers by counters mean nothing
    kWaits,        // the listener is called when this changes
  };
  class Listener {
   public:
    virtual void decided() noexcept = 0;

   protected:
    ~Listener() = default;
  };

  // All must outlive this. A null pool: the asks belong to no pool.
  Asks(Engine& engine, BlockList& blocks, AsksPool* pool = nullptr);
  ~Asks();
  Asks(const Asks&) = delete;
  Asks& operator=(const Asks&) = delete;

  void begin(Operation operation);
  // Describes the request for the record of denials. Its texts must live until decide() returns.
  void describe(const Request& request) { round_.describe(request); }
  void let_pass() { round_.let_pass(); }
  // A new ask, and memory for its key: add() does not copy a key written there.
  Ask& next_ask() { return round_.next_item().ask = Ask(); }
  std::string& next_key() { return round_.next_item().key; }
  bool add(const Ask& ask) { return round_.add(ask); }
  // Keeps a rule that is in no rule set for as long as these asks.
  void keep_rule(std::shared_ptr<const Rule> rule) { rules_ = std::move(rule); }
  bool has(const Ask& ask) const { return round_.has(ask); }

  std::size_t size() const { return round_.size(); }
  bool empty() const { return size() == 0; }

  // Keeps what the asks refer to until decide(), which is called later.
  void keep() noexcept {
    keep_rules();
    round_.keep_texts();
  }
  // Asks everything. REQUIRES: it was not called since begin()
  Progress decide(Instant now);
  // After kWaits: the listener is called once, when the stores' patience ends at the latest.
  void listen(Listener& listener) { listener_ = &listener; }
  Progress progress() const { return progress_; }
  // The progress, for a listener after its call.
  Progress go_on(Instant) const { return progress_; }

  const Ask& ask(std::size_t index) const { return round_[index].ask; }
  const Answer& answer(std::size_t index) const { return round_[index].answer; }
  // Each limit of an ask that has several, and its decision. Empty if there is only one limit, or
  // if no counter was asked.
  struct Limits {
    std::span<const Quota> quotas;
    std::span<const Decision> decisions;
  };
  Limits limits(std::size_t index) const;

  // As decide() of one ask, for work that is under way for at most `length`. A shared store holds
  // the cost at once. If the rule has slots, a slot is taken.
  // REQUIRES: the ask's rule holds units, and the engine can hold them
  Progress reserve(Duration length, Instant now);
  // After reserve(), if the ask has passed: the name of the hold.
  struct Hold {
    std::string token{};  // empty: there is no room for another hold
    Duration wait{0};     // until there may be room; 0: unknown
    // A slot's token in this node's HoldingStore; empty if only a shared store has it.
    std::optional<HoldToken> here{};
  };
  Hold hold(Duration length, Instant now) const;
  // Whether the store holds already, so that hold() only names it.
  bool has_held() const { return hold_order_.outcome == HoldOrder::Outcome::kHeld; }
  // Commits the hold with that token, and asks nothing. REQUIRES: no ask was added
  Progress commit(std::string_view token, std::int64_t cost, HoldingStore::Work work, Instant now);
  // Releases the slot with that token, and asks nothing.
  Progress release(std::string_view token, Instant now);
  // The outcome of commit() or release(); kCharged for a released slot.
  HoldingStore::Commit committed() const { return commit_order_.outcome; }
  // The units held next to the counter of the ask's key. REQUIRES: the asks have looked
  HoldingStore::Held held(std::size_t index, Instant now) const;

 private:
  friend class AsksPool;
  friend struct ReturnAsks;

  class Group;
  class Part;

  Hold hold_here(Duration length, Instant now) const;
  Progress acquire_here(Instant now);
  HoldingStore::Commit end_here(const HoldToken& token, SharedToken::Kind kind, Instant now);
  Progress end_hold(std::string_view text, SharedToken::Kind kind, Instant now);
  Progress release_lent(std::string_view text, Instant now);
  Progress commit_there(SharedHolds& holds, const SharedToken& token, Instant now);

  void start(Instant now);
  Progress run(Instant now);
  Progress finish(Instant now);
  void keep_rules();
  void answered(Instant now) override;

  void meter(Instant now);
  void read_meters();
  void give_back_credits();
  void decide_each_here(Instant now);
  void ask_step(const Step& step, Instant now);
  void ask_together(const Step& step, Operation operation, Instant now);
  void give_back(Members items, Instant now);
  // Items with one limit share batches. An item with several has a batch of its own, all or
  // nothing.
  void ask_each(Members items, Operation operation, Instant now);
  void ask_singles(Members items, Mode mode, Operation operation, Instant now);
  // REQUIRES: all items have this mode
  void ask_store(Members items, Mode mode, Operation operation, Instant now);
  bool ask_at_hand(Members items, Operation operation, Instant now);
  void decide_here(Members items, Operation operation, Instant now);
  void decide_check(Members items, Instant now);
  void make_room_for_a_part();
  Part& next_part(Members items, Mode mode, Operation operation);
  Part& filled_part(Members items, Mode mode, Operation operation);
  void read_parts(Instant now);
  void fall_back(Members items, Operation operation, Instant now);

  Engine& engine_;
  BlockList& blocks_;
  AsksPool* const pool_;
  std::size_t place_ = 0;  // in the pool's list
  Listener* listener_ = nullptr;
  std::shared_ptr<const void> rules_;  // the rules of the asks: a reload may come between
  bool is_abandoned_ = false;          // nobody reads the answers

  Round round_;
  Plan plan_;
  std::size_t next_step_ = 0;
  ImmediateCheck check_;
  Progress progress_ = Progress::kAnswered;
  bool is_unavailable_ = false;
  bool has_charged_here_ = false;  // by a step of all or nothing; may be given back
  bool is_metering_ = false;       // the parts count offers; the plan comes afterwards
  Instant give_up_at_{};
  HoldOrder hold_order_;  // of the last reservation
  CommitOrder commit_order_;
  bool is_reserving_ = false;                 // what is asked now is a reservation
  std::vector<std::unique_ptr<Part>> parts_;  // the parts of steps under way, and spare ones
  std::size_t parts_used_ = 0;
  std::size_t open_ = 0;    // parts that are asked and not answered
  bool is_asking_ = false;  // answers that come now are read once all steps under way are asked
};

}  // namespace weir
