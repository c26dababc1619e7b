// SharedTenants: the table of tenants on its way between the nodes of a fleet.
//
//   keeper ── offer() ──►  pending  ── beat: compare and set ──►  known ◄── take() ── keeper
//                                      Redis: head, buckets  ── news() ──►
//
// Redis has one head, a number and a digest, and the buckets, each under the number that changed it
// last. An offer replaces the head that its node knows; Redis takes it whole, or not if it has
// another head by then. A small one travels in one beat. Of a large one Redis puts the buckets
// aside, for one node at a time, and then switches to all of them at once. Other nodes wait for
// their turn; one that is overtaken takes its buckets away. A node that finds another head reads
// the buckets that have changed since its own. If the digest of what it has then is not the head's,
// its table and that in Redis have parted, and it reads them all.
//
// A Redis that has lost the table, or gone back to an earlier one, gets it again from the nodes.
// So does one from which rows were evicted; if no node has its table, a whole one takes its place.
// While Redis is away a change holds on its node alone,
// which remembers the head that Redis had. If Redis still has that one when it is back, or an
// earlier one, it is told of the change; if others have changed the table meanwhile, theirs counts.
// What a node had kept over a restart counts where Redis has nothing, or an earlier version of the
// same table: one of the same secret.
//
// Thread rule: any thread; one at a time offers and takes, one says and hears.
// Tested by shared_tenants_test.cc, shared_loads_test.cc and tests/e2e/tenants_test.py.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tenants/tenant_table.h"
#include "weir/time.h"

namespace weir {

class SharedTenants {
 public:
  // A bucket's place in Redis is its head's number times the buckets, and a double holds it.
  static constexpr std::uint64_t kNumberMax = 99'999'999'999;
  // Buckets that a beat reads or puts aside, and that one changes at once.
  static constexpr std::size_t kPage = 512;
  static constexpr std::size_t kChangeMax = 1024;
  // Answers without rows after which no node is likely to have the table that Redis has lost.
  static constexpr int kTornMax = 20;
  static constexpr std::size_t kBytesMax = std::size_t{192} << 20;  // that a node reads

  struct Head {
    std::uint64_t number = 0;  // 0: there is none
    std::uint64_t digest = 0;
    friend bool operator==(const Head&, const Head&) = default;
  };
  struct Version {
    Head head;
    TenantTablePtr table;
    // In Redis, when the first change was made without it; none: Redis has had this version.
    std::optional<Head> since{};
  };

  // `on_news` runs on the thread that hears, without the lock, for as long as there is some.
  explicit SharedTenants(std::function<void(Instant now)> on_news) : on_news_(std::move(on_news)) {}

  // ---- for who keeps the table

  // Waits until Redis has taken it. kOutdated: Redis has another one. kUnreadable: this node cannot
  // make that one. kAway: Redis has failed, and has said nothing for so long; it holds here alone.
  // kBusy: Redis is there, and for kTurns times as long nothing went on.
  enum class Outcome : std::uint8_t { kTaken, kOutdated, kUnreadable, kBusy, kAway };
  static constexpr int kTurns = 10;
  struct Offer {
    Version version;                     // REQUIRES: of next_number()
    std::vector<std::uint16_t> changed;  // the buckets that differ from those of known()
    bool replaces_all = false;           // also what this node cannot read
  };
  Outcome offer(Offer offer, Duration patience);
  // The same for who does not wait. Says if it is refused at once.
  std::optional<Outcome> begin_offer(Offer offer);
  // How the offer has ended, if it has. kIsOver: the caller's patience has run out once more.
  enum class Patience : std::uint8_t { kGoesOn, kIsOver };
  std::optional<Outcome> outcome(Patience patience);
  std::uint64_t next_number() const;

  // What Redis has, to be put in the place of the table or, if it is whole, of an empty one.
  struct News {
    Head head;
    HashSecret secret;
    bool is_whole = false;
    std::map<std::uint16_t, std::string> buckets;
  };
  std::optional<News> news();
  // Waits until Redis has said what it has by now, or has failed; false: it has done neither.
  bool await_word(Duration patience);
  // Waits until there is some, or none is to come; false: it has not come, or Redis has failed.
  bool await_news(Duration patience);
  // The table that the news make is in force here; null: they made another one than the head says.
  void take(const Head& head, TenantTablePtr table);
  // The table that this node has kept.
  void begin(Version kept);
  Head known() const;
  // Redis has what is in force here.
  bool is_told() const;
  // Version::since of what is in force here.
  std::optional<Head> since() const;

  // ---- for the beat

  struct Step {
    // kDrop: what this node has put aside
    enum class Kind : std::uint8_t { kChange, kPutAside, kSwitch, kDrop } kind = Kind::kChange;
    Head from;  // that it replaces
    Version to;
    std::vector<std::uint16_t> buckets{};  // of the switch: none
    std::size_t aside = 0;                 // that Redis has put aside before
  };
  struct Said {
    std::uint64_t place = 0;  // up to which it has read
    Head known;               // it wants nothing if this is the head
    std::optional<Step> step{};
  };
  Said say();

  struct Heard {
    Head head;
    std::optional<HashSecret> secret{};  // if the head is not the one that was known
    bool has_done = false;               // what was said
    bool is_torn = false;                // Redis has the head, and no buckets
    bool is_all = true;                  // no more buckets follow
    std::uint64_t place = 0;             // of the last bucket
    std::vector<std::pair<std::uint16_t, std::string>> buckets{};
  };
  void hear(Heard heard, Instant now);
  // Nothing has changed since Redis was heard last.
  void hear_no_news();
  // Redis does not answer, or cannot keep a table.
  void fail();
  // The next beat is to follow at once.
  bool has_more() const;

 private:
  // Of a table that is put aside in Redis.
  struct Load {
    std::vector<std::uint16_t> buckets{};
    std::size_t next = 0;
  };

  bool is_behind() const;
  // This node cannot have the table that Redis says.
  bool is_apart() const {
    return there_.number > 0 && (there_ == unreadable_ || torn_ >= kTornMax);
  }
  bool is_lost() const;
  const Version* wanted() const;
  void settle_offer();
  void read(Heard& heard);
  void start_over();

  const std::function<void(Instant now)> on_news_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Version known_;
  bool is_kept_ = false;     // known_ comes from before a restart
  Head there_;               // in Redis, as it said last
  bool is_strange_ = false;  // the table there has another secret than known_
  std::uint64_t asked_ = 0;  // how often
  std::uint64_t heard_ = 0;  // which of them was answered last; 0: none
  bool has_failed_ = false;  // since then
  bool is_torn_ = false;     // as Redis said last
  int torn_ = 0;             // how often in a row it has said this of a head that is not known_
  std::optional<Version> pending_;
  std::vector<std::uint16_t> changes_;  // of it
  Head offered_to_;                     // the head that it replaces
  Outcome outcome_ = Outcome::kAway;
  int waits_ = 0;                 // for how many patiences nothing went on
  std::uint64_t heard_then_ = 0;  // when the last of them began
  std::size_t farthest_then_ = 0;
  std::optional<Load> load_;
  std::size_t farthest_ = 0;  // of the pending one's load
  bool is_refused_ = false;   // its last step
  bool has_aside_ = false;    // in Redis, or may have
  std::optional<Step> said_;
  std::optional<News> reading_;
  std::uint64_t place_ = 0;
  std::size_t bytes_ = 0;
  bool is_mixed_ = false;  // the head has changed since its first page: it may miss rows that went
  bool is_read_ = false;   // reading_ is all of it, and not taken yet
  bool reads_whole_ = false;  // the next time
  Head unreadable_;           // which this node could not make
};

// The table that they make of the one in force; null: not the one that their head says.
TenantTablePtr table_of(const SharedTenants::News& news, const TenantTablePtr& in_force);

}  // namespace weir
