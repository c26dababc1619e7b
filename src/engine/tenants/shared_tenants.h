// SharedTenants: the table of tenants on its way between the nodes of a fleet.
//
//   keeper ── offer() ──►  pending  ── beat: compare and set ──►  known ◄── take() ── keeper
//                                      Redis: head, buckets  ── news() ──►
//
// Redis has one head, which is a number and a digest, and the buckets, each under the number that
// changed it last. An offer replaces the head that its node knows. Redis takes it whole, or refuses
// it if it has another head by then. A small offer travels in one beat. Of a large offer Redis puts
// the buckets aside, for one node at a time, and then switches to all of them at once. Other nodes
// wait for their turn; a node that was overtaken removes its buckets. A node that finds another
// head reads the buckets changed since its own. If its table then has another digest than the head,
// it reads them all.
//
// If Redis lost the table, or went back to an earlier one, the nodes send it again. They also do if
// rows were evicted; if no node has the table of Redis, a whole one replaces it. While Redis is
// away, a change holds on its node alone, which remembers the head that Redis had. If Redis comes
// back with that head or an earlier one, it gets the change; if others have changed the table
// meanwhile, their change counts. A table that a node kept over a restart counts if Redis has
// nothing, or an earlier version of the same table: one with the same secret.
//
// Thread rule: any thread. One thread at a time offers and takes, one says and hears.
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

#include "engine/shared/shared_head.h"
#include "engine/tenants/tenant_table.h"
#include "weir/time.h"

namespace weir {

class SharedTenants {
 public:
  // A bucket's place in Redis, its head's number times kBuckets, must fit a double exactly.
  static constexpr std::uint64_t kNumberMax = 99'999'999'999;
  // The most buckets that a beat reads or puts aside, and that one beat changes.
  static constexpr std::size_t kPage = 512;
  static constexpr std::size_t kChangeMax = 1024;
  // After so many answers without rows, no node is likely to have the table that Redis lost.
  static constexpr int kTornMax = 20;
  static constexpr int kHurriedMax = 32;
  static constexpr std::size_t kBytesMax = std::size_t{192} << 20;  // the most that a node reads

  struct Version {
    SharedHead head;
    TenantTablePtr table;
    // The head in Redis when the first change was made without it; empty if Redis had this version.
    std::optional<SharedHead> since{};
  };

  // `on_news` runs on the thread that hears, without the lock, while there are news.
  explicit SharedTenants(std::function<void(Instant now)> on_news) : on_news_(std::move(on_news)) {}

  // ---- for the thread that keeps the table

  // Waits until Redis has taken the offer. kOutdated: Redis has another table. kUnreadable: this
  // node cannot make that table. kAway: Redis failed and was silent for `patience`; the offer holds
  // here alone. kBusy: Redis is there, but nothing went on for kTurns times as long.
  enum class Outcome : std::uint8_t { kTaken, kOutdated, kUnreadable, kBusy, kAway };
  static constexpr int kTurns = 10;
  struct Offer {
    Version version;                     // REQUIRES: its number is next_number()
    std::vector<std::uint16_t> changed;  // buckets that differ from known()
    bool replaces_all = false;           // even a table that this node cannot read
  };
  Outcome offer(Offer offer, Duration patience);
  // The same without waiting. Returns an outcome if the offer is refused at once.
  std::optional<Outcome> begin_offer(Offer offer);
  // The outcome of the offer, if it has ended. kIsOver: the caller's patience ran out again.
  enum class Patience : std::uint8_t { kGoesOn, kIsOver };
  std::optional<Outcome> outcome(Patience patience);
  std::uint64_t next_number() const;

  // What Redis has: changes of this node's table or, if is_whole, a new table.
  struct News {
    SharedHead head;
    HashSecret secret;
    bool is_whole = false;
    std::map<std::uint16_t, std::string> buckets;
  };
  std::optional<News> news();
  // Waits until Redis has said what it has now, or has failed. False: neither happened.
  bool await_word(Duration patience);
  // Waits until there are news, or none will come. False: they have not come, or Redis failed.
  bool await_news(Duration patience);
  // The table that the news made is in force here. Null: it had another digest than its head.
  void take(const SharedHead& head, TenantTablePtr table);
  // Begins with the table that this node kept.
  void begin(Version kept);
  SharedHead known() const;
  // Whether Redis has the table that is in force here.
  bool is_told() const;
  // Version::since of the table that is in force here.
  std::optional<SharedHead> since() const;

  // ---- for the beat

  struct Step {
    // kDrop: removes what this node has put aside
    enum class Kind : std::uint8_t { kChange, kPutAside, kSwitch, kDrop } kind = Kind::kChange;
    SharedHead from;  // the head that it replaces
    Version to;
    std::vector<std::uint16_t> buckets{};  // none for kSwitch
    std::size_t aside = 0;                 // buckets put aside so far
  };
  struct Said {
    std::uint64_t place = 0;  // up to where this node has read
    SharedHead known;         // if this is the head, it wants nothing
    std::optional<Step> step{};
  };
  Said say();

  struct Heard {
    SharedHead head;
    std::optional<HashSecret> secret{};  // if the head is not the known one
    bool has_done = false;               // the step was done
    bool is_torn = false;                // Redis has the head, but no buckets
    bool is_all = true;                  // no more buckets follow
    std::uint64_t place = 0;             // of the last bucket
    std::vector<std::pair<std::uint16_t, std::string>> buckets{};
  };
  void hear(Heard heard, Instant now);
  // Nothing has changed since the last answer of Redis.
  void hear_no_news();
  // Redis does not answer, or cannot keep a table.
  void fail();
  // Whether the next beat should follow at once.
  bool has_more() const;

 private:
  // A table that is being put aside in Redis.
  struct Load {
    std::vector<std::uint16_t> buckets{};
    std::size_t next = 0;
  };

  bool is_behind() const;
  // Whether this node cannot have the table that Redis has.
  bool is_apart() const {
    return there_.number > 0 && (there_ == unreadable_ || torn_ >= kTornMax);
  }
  bool is_lost() const;
  const Version* wanted() const;
  void settle_offer(bool is_done);
  void read(Heard& heard);
  void start_over();

  const std::function<void(Instant now)> on_news_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  Version known_;
  bool is_kept_ = false;     // known_ comes from before a restart
  SharedHead there_;         // in Redis, as last heard
  bool is_strange_ = false;  // the table there has another secret than known_
  std::uint64_t asked_ = 0;  // number of questions
  std::uint64_t heard_ = 0;  // the last question that was answered; 0: none
  bool has_failed_ = false;  // since the last answer
  bool is_torn_ = false;     // as last heard
  int torn_ = 0;             // how often in a row, while the head is not known_
  std::optional<Version> pending_;
  std::vector<std::uint16_t> changes_;  // the buckets that pending_ changes
  SharedHead offered_to_;               // the head that pending_ replaces
  Outcome outcome_ = Outcome::kAway;
  bool may_be_done_ = false;  // its last step: Redis has not answered it
  // For so many answers beats follow at once, so that a node that was overtaken soon offers again.
  int hurried_ = 0;
  int waits_ = 0;                 // how many patiences passed without progress
  std::uint64_t heard_then_ = 0;  // heard_ at the start of the last patience
  std::size_t farthest_then_ = 0;
  std::optional<Load> load_;
  std::size_t farthest_ = 0;  // the most of pending_ that was put aside
  bool is_refused_ = false;   // the last step
  bool has_aside_ = false;    // this node has put buckets aside in Redis, or may have
  std::optional<Step> said_;
  std::optional<News> reading_;
  std::uint64_t place_ = 0;
  std::size_t bytes_ = 0;
  bool is_mixed_ = false;     // the head changed while reading: removed rows may be missed
  bool is_read_ = false;      // reading_ is complete, and not taken yet
  bool reads_whole_ = false;  // next time
  SharedHead unreadable_;     // this node could not make its table
};

// The table in force with the news applied. Null if they cannot be read, or give another digest.
TenantTablePtr table_of(const SharedTenants::News& news, const TenantTablePtr& in_force);

}  // namespace weir
