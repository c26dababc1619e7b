// Round: all asks of one request, in the words of rules, and their answers.
//
// add() finds what an ask is about: the limits of its key, the mode that decides them, the hashes
// of its counters. It decides nothing: settle.h answers asks that need no counter, plan.h chooses
// the steps for the rest, asks.h asks the stores, conclude.h acts on the answers.
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

// The percentage of the rule's limits that is in force: less than 100 while its traffic is unusual,
// if the rule says so.
std::int64_t limit_percent(const Rule& rule, const Engine& engine);

// Whether keys counted in this mode will get other names.
inline bool awaits_hasher(const Engine& engine, Mode mode) {
  return mode == Mode::kWorld ? engine.world->awaits_hasher() : engine.awaits_hasher();
}

// The live nodes that share a limit. All places have at least as many nodes as this place, even if
// none was heard of yet. REQUIRES: not kLocal
inline std::int64_t nodes_sharing(const Engine& engine, Mode mode) {
  const std::int64_t here = engine.fleet()->live_nodes();
  return mode == Mode::kWorld ? std::max(here, engine.world->live_nodes()) : here;
}

// check:allow(methods): half only read a member, and the request's texts stay as long as its asks
class Round {
 public:
  static constexpr std::size_t kItemsMax = 256;
  static constexpr std::size_t kKeyKeptMax = 4096;  // bytes of memory kept for the next key

  struct Item {
    Ask ask;  // with a rule, holds only the texts of key and tier
    std::string key;
    std::string tier;
    std::string bucket;  // kept, as `key` is, while a hasher is awaited
    std::span<const Quota> limits;
    std::vector<Quota> changed;  // of a surge, or with room to wait; the memory is reused
    std::array<Quota, Rule::kLimitsMax> followed;  // as of now, if any switches or is by a calendar
    HashedName name;
    std::array<KeyHash, Rule::kLimitsMax> hashes;  // of each limit
    std::vector<Decision> decisions;               // of each limit, if there are several
    Mode mode = Mode::kLocal;                      // the mode that decides it
    bool is_spread = false;                        // a cluster keeps its counters by slot
    int anchor = 0;                                // a tenant's; only if the rule knows tenants
    Operation own = Operation::kSpendEach;         // not kSpendEach: charged apart from the others
    bool is_settled = false;                       // answered without a counter
    Answer answer;
    HoldingStore::Held held;  // of the first limit, if a shared store has looked

    bool is_shadow() const { return ask.is_shadow(); }
    bool has_slots() const { return ask.rule != nullptr && ask.rule->has_slots(); }
    bool is_apart() const { return own != Operation::kSpendEach; }
    // For the charges that a cluster must keep in one place. Other stores keep all in one place. A
    // limit's counter stays the same if further limits are added.
    std::uint64_t tag() const { return is_spread && limits.size() > 1 ? hashes.front().low : 0; }
  };

  // Both must outlive this. `hashes` may be null.
  Round(const Engine& engine, RuleHashes* hashes, DenialDoor door)
      : engine_(engine), hashes_(hashes), door_(door) {}

  void begin(Operation operation);

  // Describes the request for the record of denials. Its texts are needed until the round is
  // decided, or until keep_texts(), which also keeps the keys of asks without a rule.
  void describe(const Request& request) {
    method_ = request.method;
    path_ = request.path;
    country_ = request.country;
  }
  void keep_texts() noexcept;
  // The request passes whatever happens: its denials count as in shadow and block nobody. Its
  // answers are the same as without.
  void let_pass() { lets_pass_ = true; }
  // How the request's host answers a denial, for the record.
  void answer_denials(const DenialStatus& status) { denial_status_ = status; }
  const DenialStatus& denial_status() const { return denial_status_; }
  bool lets_pass(const Item& item) const { return lets_pass_ || item.is_shadow(); }
  DenialDoor door() const { return door_; }
  std::string_view method() const { return method_; }
  std::string_view path() const { return path_; }
  std::string_view country() const { return country_; }

  // The next item, with its old contents. add() does not copy texts already written into its ask
  // and key. REQUIRES: size() < kItemsMax
  Item& next_item() {
    if (size_ == items_.size()) grow();
    return *items_[size_];
  }

  // Returns false, and adds nothing, if there is no room. For kSpendAll the limits of all asks must
  // fit into one batch, not counting those in shadow.
  bool add(const Ask& ask);
  // Whether an ask of this rule, key and tier was added: as by another reading of the path.
  bool has(const Ask& ask) const;

  Operation operation() const { return operation_; }
  std::size_t size() const { return size_; }
  Item& operator[](std::size_t index) { return *items_[index]; }
  const Item& operator[](std::size_t index) const { return *items_[index]; }
  std::span<const std::unique_ptr<Item>> items() const { return std::span(items_).first(size_); }
  // The modes of all items: bit i is Mode i. Modes that decide in memory come first.
  unsigned modes() const { return modes_; }
  // Whether this node's memory decides all asks alike, by nothing but their limits, and no rule
  // wants notices.
  bool is_plain() const { return is_plain_; }
  // A hold wants more than a plain decision.
  void stand_apart() { is_plain_ = false; }
  // Tells limits by a calendar when their windows end; before that the round is not plain. Returns
  // whether all asks are asked alike.
  bool learn_window_ends(Engine& engine, Instant now);

  // Whether rules of some asks hold units.
  bool may_hold() const;

  // Whether an answer denies the request so far; an ask in shadow never does.
  bool is_denied() const;

  // Frees long keys. Else each place would keep its longest: 256 times 4 MiB.
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
  std::array<char, 8> kept_method_;  // the record of denials knows methods of up to 7
  std::array<char, CoreDenials::kTextMax> kept_path_;
  std::array<char, 2> kept_country_;
  std::vector<std::unique_ptr<Item>> items_;  // items never move; spare ones at the end
  std::size_t size_ = 0;
  std::size_t joint_limits_ = 0;  // limits of kSpendAll
  unsigned modes_ = 0;
  bool is_plain_ = true;
  bool lets_pass_ = false;
  DenialStatus denial_status_;
  bool has_long_texts_ = false;  // a string that grew has at most twice its size
};

}  // namespace weir
