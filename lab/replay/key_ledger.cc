#include "replay/key_ledger.h"

#include <xxhash.h>

#include <algorithm>

namespace weir::lab {

std::optional<std::uint32_t> KeyNumbers::find(std::uint32_t rule, std::string_view key,
                                              std::size_t keys_max) {
  if (2 * hashes_.size() >= index_.size()) grow();
  const std::uint64_t hash = XXH3_64bits_withSeed(key.data(), key.size(), rule);
  const std::size_t mask = index_.size() - 1;
  std::size_t place = hash & mask;
  for (; index_[place] != 0; place = (place + 1) & mask) {
    if (hashes_[index_[place] - 1] == hash) return index_[place] - 1;
  }
  if (hashes_.size() >= keys_max) return std::nullopt;
  hashes_.push_back(hash);
  index_[place] = static_cast<std::uint32_t>(hashes_.size());
  return index_[place] - 1;
}

void KeyNumbers::grow() {
  index_.assign(std::max<std::size_t>(1024, 2 * index_.size()), 0);
  const std::size_t mask = index_.size() - 1;
  for (std::uint32_t number = 0; number < hashes_.size(); ++number) {
    std::size_t place = hashes_[number] & mask;
    while (index_[place] != 0) place = (place + 1) & mask;
    index_[place] = number + 1;
  }
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

void KeyLedger::deny(KeyRecord& record, std::string_view key, std::string_view client,
                     Instant now) {
  ++record.denied;
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
