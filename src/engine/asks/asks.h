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
#include <span>
#include <string>
#include <string_view>

#include "engine/asks/holding.h"
#include "engine/block_list.h"
#include "rules/rule_set.h"

namespace weir {

class AsksPool;

// check:allow(methods): the words of doors for a round, and the steps that ask stores for it
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
  void answer_denials(const DenialStatus& status) { round_.answer_denials(status); }
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

  // The part that holds units while work is under way, and ends holds.
  Holding& holding() { return holding_; }
  const Holding& holding() const { return holding_; }

 private:
  friend class AsksPool;
  friend struct ReturnAsks;

  class Group;

  void start(Instant now);
  Progress run(Instant now);
  Progress finish(Instant now);
  void keep_rules();
  void answered(Instant now) override;

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
  Trip& filled_trip(Members items, Mode mode, Operation operation);
  void read_trips(Instant now);
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
  PromptBatch batch_;
  Progress progress_ = Progress::kAnswered;
  bool has_charged_here_ = false;  // by a step of all or nothing; may be given back
  bool is_metering_ = false;       // the trips count offers; the plan comes afterwards
  Trips trips_;
  Holding holding_;
};

}  // namespace weir
