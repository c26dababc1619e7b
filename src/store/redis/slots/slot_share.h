// SlotShare: how many of a key's slots one core has on lease from Redis, and how many it needs.
//
//   0 ms    somebody wants a slot   the core asks for it, and for a few more
//   1 ms    Redis grants 3          slots come and go, and cost no call
//   1 s     a third of the lease    the core renews it, and gives back what it has not used
//   ...     the streams end         what has been idle for two turns goes back
//
// The lease begins when the request leaves, so it ends here before it ends in Redis, which then
// gives the slots to others. A core that was stopped finds its lease over, and asks again. While
// nodes want more than there is, each keeps its fair part, and gives back the rest as it gets free.
//
// Slots are given out elsewhere (LeasedSlots): `held` says how many are.
//
// Thread rule: one core. Tested by slot_share_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "weir/time.h"

namespace weir {

class SlotShare {
 public:
  static constexpr Duration kLength = std::chrono::seconds(3);
  // A core looks after each key so often.
  static constexpr Duration kTurn = std::chrono::milliseconds(40);
  // After Redis had not enough, the core asks again: sooner while it has less than its fair part.
  // Also while it has all: another node may have taken a release.
  static constexpr Duration kPause = std::chrono::milliseconds(60);
  static constexpr Duration kPauseAtPart = std::chrono::milliseconds(150);

  // What an errand says.
  struct Wish {
    std::int64_t kept = 0;    // goes on; the rest goes back
    Instant since;            // on Redis's clock, of what is kept
    std::int64_t needed = 0;  // by who has slots, who waits and who was denied just now
    std::int64_t wanted = 0;  // and, if there are plenty, some ahead of need
  };
  // What Redis answers.
  struct Grant {
    std::int64_t count = 0;
    std::int64_t fair = 0;    // part of the core; the limit, if there are enough for all
    std::int64_t others = 0;  // that other cores have
    Instant since;            // on Redis's clock; another one: what was kept is lost
    Duration length{0};
    Duration wait{0};  // until Redis grants more: after a failover it waits for what nodes keep
  };

  // ---- slots are given out ----

  bool is_lent(Instant now) const { return count_ > 0 && now < end_; }
  bool has_room(std::int64_t held, Instant now) const {
    return is_lent(now) && held < std::min(count_, fair_);
  }
  std::int64_t count() const { return count_; }
  std::int64_t others() const { return others_; }
  Instant end() const { return end_; }
  Instant since() const { return since_; }
  void note_taken(std::int64_t held) { peak_ = std::max(peak_, held); }
  void note_denied() { ++unmet_; }
  // Otherwise Redis has said lately that there is none.
  bool may_ask(Instant now) const { return now >= ask_again_; }
  Duration retry_after(Instant now) const { return std::max(kTurn, ask_again_ - now); }

  // ---- errands: one at a time ----

  bool is_asked() const { return is_asked_; }
  void ask() { is_asked_ = true; }
  // The errand leaves. What it gives back is not given out any more.
  Wish wish(std::int64_t limit, std::int64_t held, std::int64_t waiting, Instant now);
  // False: what was held is lost, as Redis has forgotten it or given it to others.
  bool receive(const Grant& grant, Instant asked_at, Instant now);
  // Redis may have done it, or not.
  void lost() { is_asked_ = false; }

  // ---- turns ----

  void turn(std::int64_t held);
  // The lease is to be renewed, or others may have what this core does not need.
  bool wants_errand(std::int64_t held, Instant now) const;
  // Neither this core nor Redis knows more of the key than of one that nobody has asked for.
  bool is_over(std::int64_t held, Instant now) const;

 private:
  // Of the last two turns.
  std::int64_t used(std::int64_t held) const { return std::max({held, peak_, peak_before_}); }
  std::int64_t needed(std::int64_t held) const {
    return std::max(used(held), held + std::max(unmet_, unmet_before_));
  }
  std::int64_t kept(std::int64_t held, std::int64_t waiting) const {
    return std::min(count_, std::max(held, std::min(used(held) + waiting, fair_)));
  }

  std::int64_t count_ = 0;
  Instant end_;  // of the lease
  std::int64_t fair_ = 0;
  std::int64_t others_ = 0;
  Instant since_;
  Instant renew_at_;
  Instant ask_again_;
  bool is_asked_ = false;
  std::int64_t asked_for_ = 0;  // perhaps more than there are
  std::int64_t limit_ = 0;      // then
  // What Redis has heard that is needed, and until when it believes that.
  std::int64_t told_ = 0;
  Instant told_until_;
  // In this turn, and in the one before.
  std::int64_t peak_ = 0;
  std::int64_t peak_before_ = 0;
  std::int64_t unmet_ = 0;
  std::int64_t unmet_before_ = 0;
};

}  // namespace weir
