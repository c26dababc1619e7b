// The script that decides charges within Redis, from outside: its arguments and its answers.
// docs/internals/redis.md says what it leaves in Redis.
//
//   ChargeCall call("weir:");
//   call.add(ScriptOperation::kSpendAll, batch.charges);          // as many as fit
//   client.send(call.words(), slot, deadline, ...);               // EVALSHA
//   ChargeReplies replies(reply);
//   replies.read(batch.charges, batch.decisions);                 // in the same order
//
// Thread rule: values of one thread. A call allocates when it is made, never after.
// Tested by charge_script_test.cc, and tests/redis/decide_script_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/holds/shared_holds.h"
#include "proto/resp/reply.h"
#include "weir/decision.h"
#include "weir/store.h"

namespace weir {

// The cluster slot of the charge's key, whatever the prefix.
std::uint16_t slot_of(const Charge& charge);

// The operations that a batch may ask of the script: those of a Store, and more.
enum class ScriptOperation : std::uint8_t {
  kSpendEach,
  kSpendAll,
  kLook,
  kReset,
  kCharge,
  kDrain,
  kLease,    // grants units to be spent until the lease ends
  kSync,     // charges as kCharge does, and returns the state
  kReturn,   // gives units of a lease back, if it has not ended
  kReserve,  // holds.lua, as the two below
  kCommit,
  kLookAtHolds,
  kLend,  // slots.lua, as the two below: grants slots for a while
  kEndSlot,
  kLookAtSlots,
  kNextToHolds = 16,  // added to an operation of a Store: held units of the keys count
};

// A lease grants up to each charge's cost. It grants at most `remaining / share`, but at least what
// is needed at once, and one unit, if so many are left. Redis may shorten the length. A long lease,
// if `long_length` is set, holds a smaller part of what remains, so that it may be out for longer.
// If that is less than is needed, the lease is short.
struct LeaseTerms {
  std::int64_t share = 1;   // >= 1
  std::int64_t needed = 0;  // >= 0
  Duration length{0};       // > 0
  Duration long_length{0};  // 0: short
  // Units of earlier long leases that are held no more, and, on Redis's clock, when the first of
  // these leases ends. Redis does not believe them after that.
  std::int64_t settled = 0;
  Instant settled_until{};
};

struct Lease {
  Decision decision;       // of the key after the grant; a denial if less was granted than needed
  std::int64_t units = 0;  // 0: denied
  Duration length{0};      // the units may be spent until so long after Redis's time
  bool is_long = false;
};

// A core asks Redis for slots of one key. SlotShare (slots/slot_share.h) fills this in.
struct LendTerms {
  std::uint64_t core = 0;  // no other core of the fleet has this number
  // The errand's number, higher than those of the core's earlier errands.
  std::int64_t number = 0;
  std::int64_t kept = 0;    // slots go on; the rest goes back
  Instant since{};          // on Redis's clock: since when the core has the kept slots
  std::int64_t needed = 0;  // for slots given out, waiters, and denials just now
  std::int64_t wanted = 0;  // the same and, if there are plenty, some ahead of need
  Duration length{0};
  HoldToken heard{};  // the last released token that Redis told the core
};

struct Lent {
  static constexpr std::size_t kReleasedMax = 8;

  std::int64_t count = 0;
  std::int64_t fair = 0;    // part of the core; the limit, if there are enough for all
  std::int64_t others = 0;  // slots that other cores have
  Instant since{};          // on Redis's clock; if it changed: the kept slots are lost
  Duration length{0};
  Duration wait{0};  // until Redis grants more: after a failover it waits for kept slots
  std::size_t released_count = 0;
  std::array<HoldToken, kReleasedMax> released{};  // at other nodes
};

// The numbers of src/algo's state: start and count; start, previous and current; or TAT in
// microseconds and its ticks. An adaptive quota's state has a fourth number: its switch, and which
// of these it is (synced_state.h).
using SyncedState = std::array<std::int64_t, 4>;

// Why a batch has no decisions. None of its charges was made.
enum class ChargeFailure : std::uint8_t {
  kNone,
  kForeignType,     // another type, such as a list, is under the key's name
  kUnreadable,      // a string, but no state of Weir's, or another algorithm's
  kUnsupported,     // exponential_backoff has no leases
  kOutsideWindows,  // by Redis's clock no calendar window that the call named is now
  kMalformed,       // the reply is not what the script answers
};

// The words of one call. Several batches share it; it sends a key once, even if it comes twice.
class ChargeCall {
 public:
  static constexpr std::size_t kChargesMax = 256;

  // REQUIRES: no { in the prefix
  explicit ChargeCall(std::string_view prefix);

  std::size_t charges() const { return charges_; }
  bool has_room(std::size_t charges) const { return charges_ + charges <= kChargesMax; }
  void clear();

  // A batch. REQUIRES: neither kLease nor kReturn; has_room(charges.size()); 1 to
  // Batch::kChargesMax charges; in a cluster, their keys are in the slot of the call's other keys
  void add(ScriptOperation operation, std::span<const Charge> charges);
  // Batches of one charge. REQUIRES: as above, and a positive cost
  void add_lease(const Charge& charge, const LeaseTerms& terms);
  // After `end`, on Redis's clock, nothing goes back: the charge has gone by then, and others were
  // charged in its place. `settled`: of long leases, the units that come back and the spent ones.
  // REQUIRES: as above, and a negative cost
  void add_return(const Charge& charge, Instant end, std::int64_t settled = 0);
  // Batches whose charges all have one tag. REQUIRES: as above, and positive costs
  void add_reserve(std::span<const Charge> charges, const HoldOrder& order);
  // Uses only the names of the charges. With one charge, it can also end a slot that was lent.
  void add_commit(std::span<const Charge> charges, const CommitOrder& order);
  // A batch of one charge, whose quota is the limit of slots.
  void add_lend(const Charge& charge, const LendTerms& terms);

  // The command: EVALSHA. Valid until the next call of any method.
  std::span<std::string_view> words();
  // The script. With it in place of its hash, the command is EVAL.
  static std::string_view text();

  // A test's time in place of Redis's own.
  void set_time(Instant now);

 private:
  // A place in `slots_`, which finds the keys that are there already.
  static constexpr std::size_t kSlots = 2 * kChargesMax;
  static constexpr std::size_t kWordsBefore = 3;  // the keys: EVALSHA, the hash, their number

  std::uint16_t number_of(const Charge& charge);
  void add_header(ScriptOperation operation, std::size_t charges);
  void add_charge(const Charge& charge);

  struct Name {
    KeyHash key;
    std::uint64_t tag = 0;
  };

  const std::string prefix_;
  const std::size_t name_size_max_;
  std::unique_ptr<char[]> names_;  // name_size_max_ bytes for each key
  std::array<Name, kChargesMax> keys_;
  std::array<std::uint16_t, kSlots> slots_{};  // 0, or the number of a key, from 1
  std::size_t charges_ = 0;
  std::size_t key_count_ = 0;
  std::string batches_;
  std::string time_;
  std::array<char, 8> key_count_text_{};
  std::array<std::string_view, kWordsBefore + kChargesMax + 2> words_;  // time and batches last
};

// The answers to a call's batches, one after the other.
class ChargeReplies {
 public:
  // `reply` must outlive this.
  explicit ChargeReplies(const resp::Reply& reply);

  // Redis's time when it decided. Instant{}: the reply is malformed.
  Instant time() const { return time_; }

  // Reads the next batch: `charges` as they were added, in that order. After kMalformed all later
  // batches are malformed, too.
  ChargeFailure read(std::span<const Charge> charges, std::span<Decision> decisions);
  // Skips a batch whose caller waits no more.
  ChargeFailure skip(std::size_t charges);
  ChargeFailure read_lease(const Charge& charge, Lease& lease);
  ChargeFailure read_state(const Quota& quota, SyncedState& state);
  // Reads the outcome and the end, after the decisions of a batch that reserves.
  ChargeFailure read_reserved(HoldOrder& order);
  ChargeFailure read_committed(CommitOrder& order);
  ChargeFailure read_lent(Lent& lent);
  // Reads the held units of each key, after the decisions of a batch that looks at holds or slots.
  ChargeFailure read_held(std::span<HoldingStore::Held> held);

 private:
  // The next number, at least 0; -1 if there is none.
  std::int64_t next();
  // Reads a number from 0 to 2, unless a failure's code is in its place.
  ChargeFailure read_status(std::int64_t& status);
  ChargeFailure read_decision(const Charge& charge, Decision& decision);

  resp::Reply::Iterator at_;
  resp::Reply::Iterator end_;
  Instant time_;
};

}  // namespace weir
