#include "replay/key_ledger.h"

#include <xxhash.h>

namespace weir::lab {

std::uint64_t KeyNumbers::hash(std::uint32_t rule, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(), rule);
}

std::optional<std::uint32_t> KeyNumbers::find(std::uint64_t hash) {
  constexpr std::uint64_t kNumber = (std::uint64_t{1} << kNumberBits) - 1;
  std::size_t place = place_of(hash);
  for (; index_[place] != 0; place = place_of(place + 1)) {
    const std::uint64_t found = index_[place];
    if ((found ^ hash) <= kNumber) return static_cast<std::uint32_t>(found & kNumber) - 1;
  }
  if (size_ == keys_max_) return std::nullopt;
  index_[place] = (hash & ~kNumber) | ++size_;
  return static_cast<std::uint32_t>(size_ - 1);
}

void KeyLedger::count(KeyRecord& record, Duration window, Instant now) {
  if (record.requests == 0 || now - record.last >= window) {
    record.burst = 0;
    record.burst_begin = now;
  }
  ++record.requests;
  ++record.burst;
  record.last = now;
}

void KeyLedger::name(KeyRecord& record, std::string_view key, std::string_view client,
                     Instant now) {
  if (record.details == 0 && denied_.size() < kDeniedMax) {
    denied_.push_back({.key = std::string(key.substr(0, kKeyShown)),
                       .client = std::string(client.substr(0, kKeyShown)),
                       .first = now,
                       .burst = record.burst,
                       .burst_length = now - record.burst_begin});
    record.details = static_cast<std::uint32_t>(denied_.size());
  }
  if (record.details != 0) denied_[record.details - 1].last = now;
}

}  // namespace weir::lab
