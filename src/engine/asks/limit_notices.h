// LimitNotices: which keys have used the part of a limit at which their rule wants to be told
// (`notify_at`), once a key, part and window.
//
//   look()          a core, when a request is decided; the first that sees it keeps a place for it
//     | counters of this node alone      | shared ones: all nodes may see it, and Redis
//     v                                  v names one of them (LimitsField)
//   take()          who tells people of it  <── tell()
//
// A place is kept until the window ends: that of a fixed window, else a window's length. While more
// keys have places than there is room for, or more come in a span than people read, the others are
// left out, and counted. A key that was left out may be told of a span later.
//
// A node that decides alone, without its Redis, sees its share of a limit only, and says nothing.
//
// Thread rule: any thread; look() takes a lock for what is new only. Tested by
// limit_notices_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/huge_array.h"
#include "engine/asks/round.h"
#include "observe/keys/key_report.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

struct LimitNotice {
  std::string rule;
  std::uint64_t key_hash = 0;
  std::string key{};  // empty: nobody may see it
  int percent = 0;    // that was reached
  std::int64_t used = 0;
  std::int64_t limit = 0;  // that a key may use at once
  Quota quota{};
  Instant at{};
  Instant until{};    // the window's end
  KeyHash counter{};  // of this limit of the key, on all nodes
};

class LimitNotices {
 public:
  static constexpr std::size_t kPlaces = 65'536;
  static constexpr std::size_t kNoticesMax = 100;  // in each span
  static constexpr Duration kSpan = std::chrono::seconds(10);

  LimitNotices(KeyTexts texts, Instant now) : texts_(texts), started_(now) {}

  // The round is decided, and nothing has followed from it yet.
  void look(const Round& round, Instant now) noexcept;

  struct Told {
    Instant at;
    std::vector<LimitNotice> notices;
    std::uint64_t left_out = 0;  // once a span
  };
  Told take(Instant now);

  // What other nodes may have seen, too: so many at most.
  bool has_shared() const;
  std::vector<LimitNotice> take_shared(std::size_t most);
  // Of such: this node is to tell people.
  void tell(LimitNotice notice);

 private:
  static constexpr std::size_t kWays = 8;  // places in which a key may be
  using Place = std::atomic<std::uint64_t>;
  enum class Claim : std::uint8_t { kIsNew, kIsKnown, kNoRoom };
  struct Claimed {
    Claim claim;
    Place* place = nullptr;  // of a new one
  };

  void look_at(const Round::Item& item, std::size_t limit, Instant now);
  std::uint64_t word_of(std::uint64_t name, Instant until, Instant now) const;
  std::int64_t milliseconds(Instant now) const;
  Claimed claim(std::uint64_t name, Instant until, Instant now);
  bool add(LimitNotice notice, Mode mode, Instant now);

  const KeyTexts texts_;
  const Instant started_;
  // 24 bits of a name, and in which millisecond since the start its place is free again.
  HugeArray<Place> places_{kPlaces};
  std::atomic<std::uint64_t> left_out_{0};

  mutable std::mutex mutex_;  // guards what follows
  std::vector<LimitNotice> own_;
  std::vector<LimitNotice> shared_;
  std::size_t in_span_ = 0;
  Instant span_end_{};
};

}  // namespace weir
