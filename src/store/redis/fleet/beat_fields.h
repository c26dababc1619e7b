// The fields that a node's beat carries: each has this node's words and reads the others', all in
// one trip. Adding one takes a class here, its function in beat.lua or beat_fields.lua, and a place
// in FleetBeat's list. A node that does not know a field leaves its key alone; a field that a reply
// lacks reads nothing.
//
// Thread rule: one core of the node. Tested by redis_fleet_test.cc, fuzz/beat_fields_fuzz.cc
// and tests/e2e.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/block_list.h"
#include "engine/shared/shared_rules.h"
#include "engine/tenants/shared_tenants.h"
#include "proto/resp/reply.h"
#include "store/redis/fleet/fleet_state.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

// Microseconds by Redis's clock; nullopt if no clock shows them. Sums of these values fit.
std::optional<std::int64_t> clock_us(const resp::Reply& told);

// Calls take(name, word) for each pair of texts in `told`, after the first `first` of its items.
template <typename Take>
void each_pair(const resp::Reply& told, std::size_t first, Take take) {
  std::string_view name;
  std::size_t place = 0;
  for (const resp::Reply text : told) {
    if (place++ < first) continue;
    if ((place - first) % 2 == 0) take(name, text.text());
    name = text.text();
  }
}

class BeatField {
 public:
  // The name of its function in beat.lua, and the end of its key's name.
  virtual std::string_view name() const = 0;

  // When it next has something to say. Earlier beats leave it out; a beat is sent then, or when it
  // is the node's turn. Without such a time it is in every beat.
  virtual std::optional<Instant> due() const { return std::nullopt; }
  // Whether its words count only if they arrive soon after that.
  virtual bool is_urgent() const { return false; }

  // Appends its words, in beat.lua's order.
  virtual void say(std::vector<std::string>& words, Instant now) = 0;

  // Reads the answer to its words. Returns the answer's defect, one sentence without its stop;
  // empty: none.
  [[nodiscard]] virtual std::string hear(const resp::Reply& told, Instant now) = 0;

  // Its last words only ask for news, and tell Redis nothing new: if Redis has no news, it needs no
  // answer.
  virtual bool follows_news() const { return false; }
  // Redis gave no answer, as there are no news.
  virtual void hear_no_news() {}

  // Its words did not all fit into the beat that was answered last: the next is to follow at once.
  virtual bool has_more() const { return false; }

 protected:
  ~BeatField() = default;
};

// The change up to which this node knows the others' words. Fields behind it ask Redis only after a
// later change. A node of an earlier version makes changes without news, and a Redis may evict a
// single key: so now and then the beat asks for all fields.
class NewsField final : public BeatField {
 public:
  // In a fleet of kNodes nodes; in a larger one more seldom, so that as many ask at once.
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr std::int64_t kNodes = 250;
  static constexpr std::int64_t kSeldom = 8;  // times kEvery

  explicit NewsField(const FleetState& state) : state_(state) {}

  std::string_view name() const override { return "news"; }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const FleetState& state_;
  std::string known_;
  Instant all_due_{};
};

// The nodes that are alive.
class NodesField final : public BeatField {
 public:
  // A node without a beat for so long is silent, and counts as gone.
  static constexpr Duration kAliveMax = std::chrono::seconds(5);
  // After so long other nodes forget it.
  static constexpr Duration kSilentMax = std::chrono::seconds(60);
  static constexpr std::int64_t kSilentNodesMax = 1'000'000;
  // How often it extends the key's life to 2 * kSilentMax.
  static constexpr Duration kKeepsEvery = std::chrono::seconds(20);

  explicit NodesField(std::string node) : node_(std::move(node)) {}

  // As of the last answer, to a beat that left at `asked`.
  NodesHeard heard(Instant asked) const {
    return {.live = live_, .silent = silent_, .since = asked - oldest_};
  }
  // From now on it says that it leaves.
  void leave() { word_ = "leaves"; }

  std::string_view name() const override { return "nodes"; }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string node_;
  std::string_view word_ = "beats";
  Instant keep_due_{};
  std::int64_t live_ = 1;
  std::int64_t silent_ = 1;
  Duration oldest_{0};  // since the oldest of the nodes' last words
};

// The fleet's secret. Of two secrets, the one that a fleet has had for longer wins.
class SecretField final : public BeatField {
 public:
  // `key`: its whole name. `own`: the secret to bring, if the fleet has none yet.
  SecretField(std::string key, const HashSecret& own) : key_(std::move(key)), own_(own) {}

  // The last answer has brought the first secret, or another one.
  bool has_news() const { return has_news_; }
  // REQUIRES: one was found
  HashSecret found() const;
  // The last answer shows that Redis has lost its data.
  bool is_lost() const { return is_lost_; }

  std::string_view name() const override { return "secret"; }
  bool follows_news() const override { return true; }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string key_;
  const HashSecret own_;
  std::string found_;
  std::optional<std::string> since_{};  // when this Redis took it; empty: unknown
  std::string born_;                    // since when a fleet has it; empty: unknown
  bool has_news_ = false;
  bool is_lost_ = false;
};

// Keys that this node or the others have blocked or lifted (block_list.h says how all agree).
//
// Redis names an epoch, and another one after it has lost its data. Then each node tells all that
// it knows, except what it hears from others before its turn.
class BlocksField final : public BeatField {
 public:
  // In one beat, each way.
  static constexpr std::size_t kBlocksMax = 256;
  static constexpr std::string_view kFromTheStart = "0-0";
  // If a node of this place does not tell all places in so many beats, other nodes tell them.
  static constexpr int kBeatsUntilLate = 4;

  // `last_read`: where this node stopped to read, and the epoch of that, if it knows one.
  BlocksField(std::string node, BlockList& blocks, BlockAudience audience = BlockAudience::kFleet,
              std::string_view last_read = kFromTheStart)
      : node_(std::move(node)), blocks_(blocks), audience_(audience), last_read_(last_read) {}

  const std::string& last_read() const { return last_read_; }

  // The others have been told all that this node knows.
  bool is_idle() const;
  // The last words said all that there was to say.
  bool has_said_all() const { return said_ < kBlocksMax && !has_news(); }

  std::string_view name() const override { return "blocks"; }
  bool follows_news() const override { return said_ == 0 && !has_more(); }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;
  void hear_no_news() override { tell_late(); }
  bool has_more() const override;

 private:
  bool has_news() const { return blocks_.has_news(audience_); }
  void tell_late();
  void learn(const resp::Reply& told, Instant now);

  const std::string node_;
  BlockList& blocks_;
  const BlockAudience audience_;  // the nodes that tell each other
  std::string last_read_;
  std::vector<Block> untold_;  // in the beat that was not answered yet
  std::size_t said_ = 0;       // by the last beat
  std::size_t heard_ = 0;
  bool is_asked_for_all_ = false;
  int beats_ = 0;           // since this node last told for others
  std::uint64_t late_ = 0;  // it then tells for others up to this news
};

// Rules that somebody has changed by request, on all nodes of a fleet (shared_rules.h).
//
//   rules        ->  "NUMBER DIGEST BYTES"
//   rules:nodes  ->  by the name of a node: which version it runs, or why not
//
// Anybody may write anything into that Redis: a node checks it like a request, or ignores it.
class RulesField final : public BeatField {
 public:
  // A change is known everywhere within a second, whatever the interval of the beat.
  static constexpr Duration kEvery = std::chrono::milliseconds(200);

  // `key`: its whole name. The others must outlive the field; `listener` hears once of words of
  // others that this node cannot read.
  RulesField(std::string key, std::string node, SharedRules& rules, const FleetListener& listener)
      : key_(std::move(key)), node_(std::move(node)), rules_(rules), listener_(listener) {}

  std::string_view name() const override { return "rules"; }
  bool follows_news() const override { return !is_asking_ && word_ == told_word_; }
  std::optional<Instant> due() const override { return due_; }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string key_;
  const std::string node_;
  SharedRules& rules_;
  const FleetListener& listener_;
  Instant due_{};
  Instant nodes_due_{};
  std::size_t nodes_heard_ = 0;
  std::string word_;        // the word that it said last
  std::string told_word_;   // the word that Redis has
  bool is_asking_ = false;  // for the other nodes' words, or to take an offer
  bool has_warned_ = false;
};

// The table of tenants (engine/tenants/shared_tenants.h).
//
//   tenants        ->  "NUMBER DIGEST SECRET", the head
//   tenants:rows   ->  by the number of a bucket: its rows
//   tenants:index  ->  the same numbers, by the number of the head that changed the bucket last
//   tenants:aside  ->  rows and index of a table that comes in parts, and who puts it there
class TenantsField final : public BeatField {
 public:
  static constexpr Duration kEvery = std::chrono::milliseconds(200);

  // As RulesField.
  TenantsField(std::string key, std::string node, SharedTenants& tenants,
               const FleetListener& listener)
      : key_(std::move(key)), node_(std::move(node)), tenants_(tenants), listener_(listener) {}

  std::string_view name() const override { return "tenants"; }
  bool follows_news() const override { return !is_offering_ && !has_more(); }
  void hear_no_news() override { tenants_.hear_no_news(); }
  std::optional<Instant> due() const override { return has_more() ? Instant{} : due_; }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;
  bool has_more() const override { return tenants_.has_more(); }

 private:
  const std::string key_;
  const std::string node_;
  SharedTenants& tenants_;
  const FleetListener& listener_;
  Instant due_{};
  bool has_warned_ = false;
  bool is_offering_ = false;
  bool is_torn_ = false;  // as Redis said last
};

}  // namespace weir
