// OwedLedger: the units that the workers of one nginx have admitted and their Redis has not
// charged, in memory that all of them map.
//
//   worker admits 3 ──> note 3 ──> Redis charges 3 ──> the note is free
//                          │ the worker is killed, or ends while Redis is away
//                          └──> another worker inherits the note, and owes the 3
//
// A note belongs to the process that made it. If a process is killed while it inherits, units are
// charged twice: too much rather than too little. Units for which there is no note die with the
// process.
//
// Thread rule: one thread of each process. Tested by owed_ledger_test.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "store/redis/async/owed_units.h"
#include "weir/key.h"
#include "weir/quota.h"
#include "weir/store.h"

namespace weir::nginx {

class OwedLedger final : public OwedUnits {
 public:
  struct Owner {
    std::uint64_t fleet;  // like no other fleet's
    std::int32_t process;
  };

  // Zeros are an empty ledger. `memory` outlives this.
  OwedLedger(std::span<std::byte> memory, const Owner& owner);

  Note* open(const Charge& charge) noexcept override;
  void close(Note& note) noexcept override;

  // Takes over some notes of dead processes, in turn, and passes on those of the same fleet.
  using Heir = std::function<void(const Charge& charge, std::int64_t entered)>;
  void inherit(const Heir& heir);

 private:
  struct alignas(64) Record : Note {
    std::atomic<std::int32_t> process;  // 0: free
    std::uint64_t fleet;
    std::uint64_t tag;
    KeyHash key;
    Quota quota;
  };

  bool is_gone(std::int32_t process);
  void pass_on(Record& record, const Heir& heir);

  const std::span<Record> records_;
  const Owner owner_;
  std::size_t next_ = 0;    // a note may be free there
  std::size_t swept_ = 0;   // inherit() goes on there
  std::int32_t known_ = 0;  // the last process of which inherit() knows
  bool is_known_gone_ = false;
};

}  // namespace weir::nginx
