// LimitNotices: notes keys that have used so much of a limit that their rule wants people to be
// told (`notify_at`), once a key, part and window.
//
//   look()          a core, when a request is decided; the first that sees it keeps a word for it
//     | counters of this node alone      | shared ones: all nodes may see it, and Redis
//     v                                  v names one of them (LimitsField)
//   take()          who tells people of it  <── tell()
//
// A word is kept until the window ends: the end of a fixed window, else a window's length from
// now. If there are more keys than words, or more notices in a span than people read, the rest is
// left out and counted. A key that was left out may be told of a span later.
//
// A node that decides alone, without its Redis, sees only its share of a limit, and says nothing.
//
// Thread rule: any thread; look() takes a lock only for a new notice. Tested by
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
  std::string key{};  // empty: keys are not shown
  int percent = 0;    // the part that was reached
  std::int64_t used = 0;
  std::int64_t limit = 0;  // the most that a key may use at once
  Quota quota{};
  Instant at{};
  Instant until{};    // the end of the window
  KeyHash counter{};  // of this limit of the key; the same on all nodes
};

class LimitNotices {
 public:
  static constexpr std::size_t kWords = 65'536;
  static constexpr std::size_t kNoticesMax = 100;  // in each span
  static constexpr Duration kSpan = std::chrono::seconds(10);

  LimitNotices(KeyTexts texts, Instant now) : texts_(texts), started_(now) {}

  // Call it when the round is decided, before conclude().
  void look(const Round& round, Instant now) noexcept;

  struct Told {
    Instant at;
    std::vector<LimitNotice> notices;
    std::uint64_t left_out = 0;  // counted once a span
  };
  Told take(Instant now);

  // Whether there are notices that other nodes may have, too; and at most so many of them.
  bool has_shared() const;
  std::vector<LimitNotice> take_shared(std::size_t most);
  // Redis chose this node to tell people of the notice.
  void tell(LimitNotice notice);

 private:
  static constexpr std::size_t kWays = 8;  // the words that may be a key's
  using Word = std::atomic<std::uint64_t>;
  enum class Claim : std::uint8_t { kIsNew, kIsKnown, kNoRoom };
  struct Claimed {
    Claim claim;
    Word* word = nullptr;  // only if kIsNew
  };

  void look_at(const Round::Item& item, std::size_t limit, Instant now);
  std::uint64_t word_of(std::uint64_t name, Instant until, Instant now) const;
  std::int64_t milliseconds(Instant now) const;
  Claimed claim(std::uint64_t name, Instant until, Instant now);
  bool add(LimitNotice notice, Mode mode, Instant now);

  const KeyTexts texts_;
  const Instant started_;
  // Each word: 24 bits of a name, and the millisecond since the start when it is free again.
  HugeArray<Word> words_{kWords};
  std::atomic<std::uint64_t> left_out_{0};

  mutable std::mutex mutex_;  // guards all below
  std::vector<LimitNotice> own_;
  std::vector<LimitNotice> shared_;
  std::size_t in_span_ = 0;
  Instant span_end_{};
};

}  // namespace weir
