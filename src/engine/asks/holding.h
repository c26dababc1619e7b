// Holding: what a request holds while its work is under way (weir/holding_store.h), on this node or
// in a shared store. A door says what is wanted before it decides, and asks what came of it after:
//
//   asks->holding().reserve(30s);                  asks->holding().commit(token, 120, work);
//   asks->decide(now);                             asks->decide(now);
//   asks->holding().hold(now).token                asks->holding().committed()
//
// Thread rule: one core. Tested by src/server/http/check/http_holds_test.cc, tests/scenarios and
// tests/e2e/holds_fleet_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/asks/trips.h"
#include "engine/holds/shared_holds.h"
#include "engine/holds/shared_token.h"
#include "weir/holding_store.h"
#include "weir/result.h"

namespace weir {

// Each door tells this to a caller who gets no hold, or whose token is of no use.
inline constexpr std::string_view kTooManyHeld =
    "the key has max_holds holds, or the node no room for another";
inline constexpr std::string_view kNoSuchHold =
    "the token was used before, or its hold has ended, or another node gave it";
struct WrongHold {
  std::string_view field;
  std::string expected;
};

// Reads how long the ask may hold units, or a slot. REQUIRES: the ask has a rule
enum class HoldOf : std::uint8_t { kUnits, kSlot };
Result<Duration, WrongHold> hold_length(std::string_view text, const Ask& ask, HoldOf of,
                                        const Engine& engine);

class Holding {
 public:
  // Both must outlive this.
  Holding(Engine& engine, Round& round) : engine_(engine), round_(round) {}

  // The round's only ask is for work that is under way for at most `length`. A shared store holds
  // the cost at once. If the rule has slots, a slot is taken.
  // REQUIRES: the ask's rule holds units, and the engine can hold them
  void reserve(Duration length);
  // Ends the hold with that token, or reports what it has cost so far. The token must live until
  // the asks are decided. REQUIRES: no ask was added
  void commit(std::string_view token, std::int64_t cost, HoldingStore::Work work);
  // Gives back the slot with that token; the rest as above.
  void release(std::string_view token);
  // Nothing is to be held or ended; else decide() does what was said last.
  void forget() { next_ = Way::kNothing; }

  // After reserve(): the name of the hold, if the ask has passed.
  struct Hold {
    std::string token{};       // empty: nothing is held
    bool is_too_many = false;  // the ask has passed, but there is no room for another hold
    Duration wait{0};          // until there may be room; 0: unknown
    // A slot's token in this node's HoldingStore; empty if only a shared store has it.
    std::optional<HoldToken> here{};
  };
  Hold hold(Instant now) const;
  // Whether the store holds already, so that hold() only names it.
  bool has_held() const { return order_.outcome == HoldOrder::Outcome::kHeld; }
  // The outcome of commit() or release(); kCharged for a released slot.
  HoldingStore::Commit committed() const { return commit_.outcome; }
  // The units held next to the counter of the ask's key. REQUIRES: the asks have looked
  HoldingStore::Held held(std::size_t index, Instant now) const;

  // For Asks. Does what is wanted without asking for the round: true if that was all. A trip may be
  // under way then. REQUIRES: the round is settled
  bool act(Trips& trips, Instant now);
  // A shared store holds this in place of spending; null: it spends.
  HoldOrder* order() { return way_ == Way::kReserve ? &order_ : nullptr; }

 private:
  enum class Way : std::uint8_t { kNothing, kReserve, kEnd };

  bool acquire_here(Instant now);
  Hold hold_here(Instant now) const;
  void end_by(std::string_view token, SharedToken::Kind kind);
  void end(Trips& trips, Instant now);
  void end_here(const HoldToken& token, Instant now);

  Engine& engine_;
  Round& round_;
  Way next_ = Way::kNothing;  // is wanted
  Way way_ = Way::kNothing;   // was wanted when the round was decided
  SharedToken::Kind kind_{};  // of what ends
  std::string_view token_;    // of what ends
  HoldOrder order_;           // of the last reservation
  CommitOrder commit_;        // of the last end
};

}  // namespace weir
