// Round: all that one request asks at once, in the words of rules, and the answers.
//
// add() works out what an ask is about: the limits that hold for its key, the mode in which they
// are decided, the hashes of its counters. Nothing is decided here: settle.h answers what needs no
// counter, plan.h says in which steps the rest is asked, asks.h asks it, conclude.h draws the
// consequences.
//
// Thread rule: a value of one core; reused, so that adding allocates nothing once it has grown.
// Tested by asks_test.cc and plan_test.cc.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/ask.h"
#include "engine/asks/rule_hashes.h"
#include "engine/engine.h"
#include "weir/holding_store.h"

namespace weir {

// How much of the rule's limits holds now: less than 100 while its traffic is unusual, if it says
// so.
std::int64_t limit_percent(const Rule& rule, const Engine& engine);

// Whether the names of keys that are counted in this mode are to change.
inline bool awaits_hasher(const Engine& engine, Mode mode) {
  return mode == Mode::kWorld ? engine.world->awaits_hasher() : engine.awaits_hasher();
}

// Nodes that are alive, which share a limit. Of all places there are as many as here at least, also
// where none has been heard of yet. REQUIRES: not kLocal
inline std::int64_t nodes_sharing(const Engine& engine, Mode mode) {
  const std::int64_t here = engine.fleet()->live_nodes();
  return mode == Mode::kWorld ? std::max(here, engine.world->live_nodes()) : here;
}

// check:allow(methods): what is asked, and what is known of the request that asks
class Round {
 public:
  static constexpr std::size_t kItemsMax = 256;
  static constexpr std::size_t kKeyKeptMax = 4096;  // bytes of memory kept for the next key

  struct Item {
    Ask ask;  // of its texts only key and tier, if there is a rule
    std::string key;
    std::string tier;
    std::string bucket;  // while a hasher is awaited, as key without a rule
    std::span<const Quota> limits;
    std::vector<Quota> changed;  // limits of a surge, or with room to wait; memory is kept
    std::array<Quota, Rule::kLimitsMax> followed;  // if any switch or are by a calendar: as of now
    HashedName name;
    std::array<KeyHash, Rule::kLimitsMax> hashes;  // of each limit
    std::vector<Decision> decisions;               // of each limit, if there are several
    Mode mode = Mode::kLocal;                      // in which it is to be decided
    bool is_spread = false;                        // where a cluster's slots are counters' places
    int anchor = 0;                                // of a tenant; of rules that know of tenants
    Operation own = Operation::kSpendEach;  // else it is charged by itself, whatever others say
    bool is_settled = false;                // answered without a counter
    Answer answer;
    HoldingStore::Held held;  // of the first limit, if a shared store has looked at it

    bool is_shadow() const { return ask.is_shadow(); }
    bool has_slots() const { return ask.rule != nullptr && ask.rule->has_slots(); }
    bool is_apart() const { return own != Operation::kSpendEach; }
    // Of charges that a cluster keeps in one place. Elsewhere they are, and a limit's counter is
    // the same whether or not there are more limits.
    std::uint64_t tag() const { return is_spread && limits.size() > 1 ? hashes.front().low : 0; }
  };

  // Both must outlive this. `hashes` may be null.
  Round(const Engine& engine, RuleHashes* hashes, DenialDoor door)
      : engine_(engine), hashes_(hashes), door_(door) {}

  void begin(Operation operation);

  // What the record of denials tells of the request. Its texts are needed until this is decided, or
  // until keep_texts().
  void describe(const Request& request) {
    method_ = request.method;
    path_ = request.path;
    country_ = request.country;
  }
  void keep_texts() noexcept;
  // Whatever becomes of this request, it passes: denials count as of rules in shadow, and block
  // nobody. The answers are as without.
  void let_pass() { lets_pass_ = true; }
  bool lets_pass(const Item& item) const { return lets_pass_ || item.is_shadow(); }
  DenialDoor door() const { return door_; }
  std::string_view method() const { return method_; }
  std::string_view path() const { return path_; }
  std::string_view country() const { return country_; }

  // The next item, which begins with what was there. What is written into its ask and key add()
  // need not copy. REQUIRES: size() < kItemsMax
  Item& next_item() {
    if (size_ == items_.size()) grow();
    return *items_[size_];
  }

  // False, and nothing is added, if there is no room for another: of kSpendAll all limits
  // of all asks must fit into one batch, those in shadow aside.
  bool add(const Ask& ask);
  // Whether an ask of the same rule, key and tier was added: two readings of a path may lead there.
  bool has(const Ask& ask) const;

  Operation operation() const { return operation_; }
  std::size_t size() const { return size_; }
  Item& operator[](std::size_t index) { return *items_[index]; }
  const Item& operator[](std::size_t index) const { return *items_[index]; }
  std::span<const std::unique_ptr<Item>> items() const { return std::span(items_).first(size_); }
  const Modes& modes() const { return modes_; }
  // All are asked of this node's memory, and alike, by nothing but their limits, and nobody wants
  // to hear of it.
  bool is_plain() const { return is_plain_; }
  // Limits by a calendar learn when their windows end; before that the round is not plain. Says
  // whether all are asked alike.
  bool learn_window_ends(Engine& engine, Instant now);

  // Rules of some hold units.
  bool may_hold() const;

  // Whether an answer that is there denies the request; an ask in shadow never does.
  bool is_denied() const;

  // Else the longest key of each place would be kept: 256 of 4 MiB.
  void forget_long_keys() noexcept;

 private:
  void grow();
  HashedName name_of(const Ask& ask) const;
  void take_limits(Item& item) const;
  bool take_tenants_limit(Item& item) const;
  void change_limits(Item& item, std::int64_t percent) const;
  void follow(Item& item);

  const Engine& engine_;
  RuleHashes* const hashes_;
  const DenialDoor door_;
  Operation operation_ = Operation::kSpendEach;
  std::string_view method_;
  std::string_view path_;
  std::string_view country_;
  std::array<char, 8> kept_method_;  // those that denials know have 7
  std::array<char, CoreDenials::kTextMax> kept_path_;
  std::array<char, 2> kept_country_;
  std::vector<std::unique_ptr<Item>> items_;  // they keep their places; spare ones behind
  std::size_t size_ = 0;
  std::size_t joint_limits_ = 0;  // of kSpendAll
  Modes modes_;                   // of all items
  bool is_plain_ = true;
  bool lets_pass_ = false;
  bool has_long_texts_ = false;  // a string that has grown has twice its size at most
};

}  // namespace weir
