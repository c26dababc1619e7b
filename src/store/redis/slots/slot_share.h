// SlotShare: how many of a key's slots one core leases from Redis, and how many it needs.
//
//   0 ms    somebody wants a slot   the core asks for it, and for a few more
//   1 ms    Redis grants 3          slots come and go, and cost no call
//   1 s     a third of the lease    the core renews it, and gives back what it has not used
//   ...     the streams end         slots idle for two turns go back
//
// The lease begins when the request leaves, so it ends here before it ends in Redis, which then
// gives the slots to others. A core that was stopped finds its lease over, and asks again. While
// nodes want more slots than there are, each keeps its fair part and gives back the rest once free.
//
// LeasedSlots gives slots out: `held` says how many are given out.
//
// Thread rule: one core. Tested by slot_share_test.cc.

#pragma once

#include <algorithm>
#include <cstdint>

#include "store/redis/script/charge_script.h"
#include "weir/time.h"

namespace weir {

class SlotShare {
 public:
  static constexpr Duration kLength = std::chrono::seconds(3);
  // How often a core looks after each key.
  static constexpr Duration kTurn = std::chrono::milliseconds(40);
  // The core asks again so long after Redis had too few: sooner while it has less than its fair
  // part. Also while it has all slots: another node may have taken a release.
  static constexpr Duration kPause = std::chrono::milliseconds(60);
  static constexpr Duration kPauseAtPart = std::chrono::milliseconds(150);

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
  // If not, Redis has said lately that there is no slot.
  bool may_ask(Instant now) const { return now >= ask_again_; }
  Duration retry_after(Instant now) const { return std::max(kTurn, ask_again_ - now); }

  // ---- errands: one at a time ----

  bool is_asked() const { return is_asked_; }
  void ask() { is_asked_ = true; }
  // The errand leaves. The core no longer gives out the slots that it gives back. The caller says
  // which core it is.
  LendTerms wish(std::int64_t limit, std::int64_t held, std::int64_t waiting, Instant now);
  // False: the held slots are lost, as Redis has forgotten them or given them to others.
  bool receive(const Lent& grant, Instant asked_at, Instant now);
  // Redis may have carried the errand out, or not.
  void lost() { is_asked_ = false; }

  // ---- turns ----

  void turn(std::int64_t held);
  // The lease is to be renewed, or this core has, or claims, slots that it does not need.
  bool wants_errand(std::int64_t held, Instant now) const;
  // This core and Redis know no more of the key than of an unused one.
  bool is_over(std::int64_t held, Instant now) const;

 private:
  // The most slots used in the last two turns.
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
  std::int64_t asked_for_ = 0;  // slots, perhaps more than there are
  std::int64_t limit_ = 0;      // at that time
  // The need that Redis has heard of, and until when it believes that.
  std::int64_t told_ = 0;
  Instant told_until_;
  // The most slots used in this turn, and in the turn before.
  std::int64_t peak_ = 0;
  std::int64_t peak_before_ = 0;
  std::int64_t unmet_ = 0;
  std::int64_t unmet_before_ = 0;
};

}  // namespace weir
