// The fields that a node's beat carries: each has what this node says and what the others say, all
// in one trip. Adding one takes a class here, its function in beat.lua or beat_fields.lua, and a
// place in FleetBeat's list. A node that does not know a field leaves its key alone; a field that a
// reply lacks reads nothing.
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
#include "engine/shared_rules.h"
#include "engine/tenants/shared_tenants.h"
#include "proto/resp/reply.h"
#include "store/redis/fleet/fleet_state.h"
#include "weir/key.h"
#include "weir/time.h"

namespace weir {

// Microseconds by Redis's clock. Nothing if no clock shows them: sums of what it returns fit.
std::optional<std::int64_t> clock_us(const resp::Reply& told);

// Calls take(name, word) for each two texts of what was told, behind the first so many.
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

  // When it next has something to say: beats before that do without it, and one is sent then, or
  // when it is the node's turn. Without such a time it is in every beat.
  virtual std::optional<Instant> due() const { return std::nullopt; }
  // What it has to say counts soon after that only.
  virtual bool is_urgent() const { return false; }

  // Appends its words, as beat.lua wants them.
  virtual void say(std::vector<std::string>& words, Instant now) = 0;

  // Reads the answer to what it said. Returns what is wrong with the answer, one
  // sentence without its stop; empty: nothing is.
  [[nodiscard]] virtual std::string hear(const resp::Reply& told, Instant now) = 0;

  // What it has said asks for nothing but news, and tells Redis nothing new: where Redis has no
  // news, it needs no answer.
  virtual bool follows_news() const { return false; }
  // Such an answer has come: none, as there are no news.
  virtual void hear_no_news() {}

  // Not all fitted into the beat that was answered last: the next is to follow at once.
  virtual bool has_more() const { return false; }

 protected:
  ~BeatField() = default;
};

// Up to which change this node knows what the others say: fields behind it wait for another one.
// A node of an earlier version makes changes without news, and a Redis may evict a key alone: so
// now and then all fields are asked.
class NewsField final : public BeatField {
 public:
  // In a fleet of so many nodes; in a larger one as many ask at once, kSeldom at most.
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

// Which nodes are alive.
class NodesField final : public BeatField {
 public:
  // A node that has not beaten for so long is silent, and counts as gone.
  static constexpr Duration kAliveMax = std::chrono::seconds(5);
  // And after so long nobody speaks of it any more.
  static constexpr Duration kSilentMax = std::chrono::seconds(60);
  static constexpr std::int64_t kSilentNodesMax = 1'000'000;
  // It makes sure that the key lives on for 2 * kSilentMax.
  static constexpr Duration kKeepsEvery = std::chrono::seconds(20);

  explicit NodesField(std::string node) : node_(std::move(node)) {}

  // As of the last answer to a beat that left then.
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

// The fleet's secret. Of two the one wins that a fleet has had for longer.
class SecretField final : public BeatField {
 public:
  // `key`: its whole name. `own`: to bring, if there is none yet.
  SecretField(std::string key, const HashSecret& own) : key_(std::move(key)), own_(own) {}

  // The last answer has brought the first, or another one.
  bool has_news() const { return has_news_; }
  // REQUIRES: one was found
  HashSecret found() const;
  // As the last answer shows, Redis has lost what it had.
  bool is_lost() const { return is_lost_; }

  std::string_view name() const override { return "secret"; }
  bool follows_news() const override { return true; }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string key_;
  const HashSecret own_;
  std::string found_;
  std::optional<std::string> since_{};  // when this Redis took it; empty: nobody has said
  std::string born_;                    // since when a fleet has it; empty: nobody has said
  bool has_news_ = false;
  bool is_lost_ = false;
};

// Whom this node has blocked or let go, and whom the others have (block_list.h says how all agree).
//
// Redis names an epoch, and another one when it has lost what it had. Then each node tells all that
// it knows, but for what it hears from others before it comes to that.
class BlocksField final : public BeatField {
 public:
  // Each way, in one beat.
  static constexpr std::size_t kBlocksMax = 256;
  static constexpr std::string_view kFromTheStart = "0-0";
  // What a node of this place does not tell all places in so many beats, the others tell.
  static constexpr int kBeatsUntilLate = 4;

  // `last_read`: where this node has ended to read, and the epoch of that, if it knows one.
  BlocksField(std::string node, BlockList& blocks, BlockAudience audience = BlockAudience::kFleet,
              std::string_view last_read = kFromTheStart)
      : node_(std::move(node)), blocks_(blocks), audience_(audience), last_read_(last_read) {}

  const std::string& last_read() const { return last_read_; }

  // The others have been told all that is known here.
  bool is_idle() const;
  // The last words were all there was to say.
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
  const BlockAudience audience_;  // who is told, and tells
  std::string last_read_;
  std::vector<Block> untold_;  // in the beat that was not answered yet
  std::size_t said_ = 0;       // by the last beat
  std::size_t heard_ = 0;
  bool is_asked_for_all_ = false;
  int beats_ = 0;           // since it last told for others
  std::uint64_t late_ = 0;  // up to which news it will then
};

// Rules that somebody has changed by request, on all nodes of a fleet (engine/shared_rules.h).
//
//   rules        ->  "NUMBER DIGEST BYTES"
//   rules:nodes  ->  by the name of a node: which version it runs, or why not
//
// Who writes in the Redis may write anything there: it is read as what requests send, or ignored.
class RulesField final : public BeatField {
 public:
  // So that a change is known everywhere within a second, whatever the interval of the beat.
  static constexpr Duration kEvery = std::chrono::milliseconds(200);

  // `key`: its whole name. The others must outlive the field; `listener` hears, once, of what
  // others have written that this node cannot read.
  RulesField(std::string key, std::string node, SharedRules& rules, FleetListener& listener)
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
  FleetListener& listener_;
  Instant due_{};
  Instant nodes_due_{};
  std::size_t nodes_heard_ = 0;
  std::string word_;        // that it said last
  std::string told_word_;   // that Redis has
  bool is_asking_ = false;  // of the nodes, or to take an offer
  bool has_warned_ = false;
};

// The table of tenants (engine/tenants/shared_tenants.h).
//
//   tenants        ->  "NUMBER DIGEST SECRET", the head
//   tenants:rows   ->  by the number of a bucket: its rows
//   tenants:index  ->  the same numbers, by the number of the head that changed the bucket last
//   tenants:aside  ->  the same two, of a table that comes in parts, and who puts it there
class TenantsField final : public BeatField {
 public:
  static constexpr Duration kEvery = std::chrono::milliseconds(200);

  // As RulesField.
  TenantsField(std::string key, std::string node, SharedTenants& tenants, FleetListener& listener)
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
  FleetListener& listener_;
  Instant due_{};
  bool has_warned_ = false;
  bool is_offering_ = false;
  bool is_torn_ = false;  // as Redis said last
};

}  // namespace weir
