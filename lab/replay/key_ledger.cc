#include "replay/key_ledger.h"

#include <xxhash.h>

#include <algorithm>

namespace weir::lab {

std::optional<std::uint32_t> KeyLedger::find(std::uint32_t rule, std::string_view key) {
  if (2 * records_.size() >= index_.size()) grow();
  const std::uint64_t hash = XXH3_64bits_withSeed(key.data(), key.size(), rule);
  const std::size_t mask = index_.size() - 1;
  for (std::size_t place = hash & mask;; place = (place + 1) & mask) {
    const std::uint32_t number = index_[place];
    if (number == 0) {
      if (records_.size() == kKeysMax) return std::nullopt;
      records_.push_back({.hash = hash, .rule = rule});
      index_[place] = static_cast<std::uint32_t>(records_.size());
      return index_[place] - 1;
    }
    if (records_[number - 1].hash == hash && records_[number - 1].rule == rule) return number - 1;
  }
}

void KeyLedger::grow() {
  if (index_.size() > 2 * kKeysMax) return;
  index_.assign(std::max<std::size_t>(1024, 2 * index_.size()), 0);
  const std::size_t mask = index_.size() - 1;
  for (std::uint32_t number = 0; number < records_.size(); ++number) {
    std::size_t place = records_[number].hash & mask;
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
