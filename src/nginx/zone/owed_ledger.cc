#include "nginx/zone/owed_ledger.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace weir::nginx {
namespace {

// The holder of notes of an earlier process with this process's number.
constexpr std::int32_t kNobody = -1;

constexpr std::size_t kTries = 32;     // places tried for a note
constexpr std::size_t kAtOnce = 4096;  // places that inherit() looks at

// False for a process that was waited for, or never was. REQUIRES: process > 0
bool is_alive(std::int32_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

}  // namespace

OwedLedger::OwedLedger(std::span<std::byte> memory, const Owner& owner)
    : records_(reinterpret_cast<Record*>(memory.data()), memory.size() / sizeof(Record)),
      owner_(owner),
      next_(static_cast<std::size_t>(owner.process) * kTries %
            std::max<std::size_t>(records_.size(), 1)) {
  for (Record& record : records_) {
    std::int32_t own = owner_.process;
    record.process.compare_exchange_strong(own, kNobody, std::memory_order_acq_rel);
  }
}

OwedUnits::Note* OwedLedger::open(const Charge& charge) noexcept {
  for (std::size_t tried = 0; tried < std::min(kTries, records_.size()); ++tried) {
    Record& record = records_[std::exchange(next_, (next_ + 1) % records_.size())];
    std::int32_t nobody = 0;
    // Pairs with close(): the remains of an earlier note are overwritten after it.
    if (!record.process.compare_exchange_strong(nobody, owner_.process,
                                                std::memory_order_acq_rel)) {
      continue;
    }
    record.fleet = owner_.fleet;
    record.tag = charge.tag;
    record.key = charge.key;
    record.quota = *charge.quota;
    record.entered.store(0, std::memory_order_relaxed);
    return &record;
  }
  return nullptr;
}

// Clears the units first: an heir of a half-closed note inherits nothing.
void OwedLedger::close(Note& note) noexcept {
  auto& record = static_cast<Record&>(note);
  record.units.store(0, std::memory_order_relaxed);
  record.process.store(0, std::memory_order_release);
}

bool OwedLedger::is_gone(std::int32_t process) {
  if (process == kNobody) return true;
  if (std::exchange(known_, process) != process) is_known_gone_ = !is_alive(process);
  return is_known_gone_;
}

void OwedLedger::inherit(const Heir& heir) {
  known_ = 0;
  for (std::size_t i = std::min(kAtOnce, records_.size()); i > 0; --i) {
    Record& record = records_[swept_];
    swept_ = (swept_ + 1) % records_.size();
    std::int32_t holder = record.process.load(std::memory_order_relaxed);
    if (holder == 0 || holder == owner_.process || !is_gone(holder)) continue;
    // Pairs with the units that the holder stored before it was gone.
    if (!record.process.compare_exchange_strong(holder, owner_.process,
                                                std::memory_order_acq_rel)) {
      continue;
    }
    pass_on(record, heir);
    close(record);
  }
}

void OwedLedger::pass_on(Record& record, const Heir& heir) {
  const std::int64_t units = record.units.load(std::memory_order_acquire);
  if (units <= 0 || record.fleet != owner_.fleet) return;
  heir({.key = record.key, .quota = &record.quota, .cost = units, .tag = record.tag},
       std::min(units, record.entered.load(std::memory_order_relaxed)));
}

}  // namespace weir::nginx
