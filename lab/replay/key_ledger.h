// KeyLedger: the results of each key of each rule. Bounded: keys beyond the first kKeysMax are
// judged, but not told apart; the first kDeniedMax denied keys are known by name.
//
// Thread rule: one thread. Tested by tests/lab/replay_test.py.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/huge_array.h"
#include "weir/time.h"

namespace weir::lab {

// Numbers the keys of rules, from 0 on. A hash of about 60 bits tells two keys apart.
class KeyNumbers {
 public:
  // REQUIRES: keys_max < 2^kNumberBits
  explicit KeyNumbers(std::size_t keys_max)
      : keys_max_(keys_max), index_(std::bit_ceil(2 * keys_max)) {}

  static std::uint64_t hash(std::uint32_t rule, std::string_view key);
  // Fetches what find() is about to read.
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(&index_[place_of(hash)]); }
  // nullopt if a new key finds no number left.
  std::optional<std::uint32_t> find(std::uint64_t hash);
  std::size_t size() const { return size_; }

 private:
  static constexpr unsigned kNumberBits = 24;

  std::size_t place_of(std::uint64_t hash) const { return hash & (index_.size() - 1); }

  const std::size_t keys_max_;
  std::size_t size_ = 0;
  HugeArray<std::uint64_t> index_;  // the hash, and in its last bits number + 1; 0: free
};

struct DeniedKey {
  std::string key;
  std::string client;  // of the first denied request, as in the log
  Instant first{};
  Instant last{};
  std::uint32_t burst = 0;  // requests from its last pause of a window on, with the denied one
  Duration burst_length{};
};

// Valid as zeros.
struct KeyRecord {
  std::uint32_t rule = 0;
  std::uint32_t details = 0;  // the number of its DeniedKey; 0: none
  std::uint32_t requests = 0;
  std::uint32_t denied = 0;
  std::uint32_t spared = 0;     // that would have been denied
  std::uint32_t newly = 0;      // of the denied requests, those that the other rules allowed
  std::uint32_t elsewhere = 0;  // of its requests, those that the other rules denied
  std::uint32_t burst = 0;
  Instant burst_begin{};
  Instant last{};
};

class KeyLedger {
 public:
  static constexpr std::size_t kKeysMax = std::size_t{1} << 20;
  static constexpr std::size_t kDeniedMax = 100'000;
  static constexpr std::size_t kKeyShown = 200;  // bytes

  void prefetch(std::uint64_t hash) const { numbers_.prefetch(hash); }
  // The number of the record of the key with this hash; nullopt if there is no room for a new one.
  std::optional<std::uint32_t> find(std::uint64_t hash, std::uint32_t rule) {
    const auto number = numbers_.find(hash);
    if (number) records_[*number].rule = rule;
    return number;
  }
  KeyRecord& operator[](std::uint32_t number) { return records_[number]; }

  // Counts a request. A burst ends with a pause of `window`.
  static void count(KeyRecord& record, Duration window, Instant now);
  // Notes that it exceeds the limit. Keeps `key` and `client` of the first time.
  void name(KeyRecord& record, std::string_view key, std::string_view client, Instant now);

  std::span<const KeyRecord> records() const { return {records_.begin(), numbers_.size()}; }
  // REQUIRES: record.details > 0
  const DeniedKey& details(const KeyRecord& record) const { return denied_[record.details - 1]; }

 private:
  KeyNumbers numbers_{kKeysMax};
  HugeArray<KeyRecord> records_{kKeysMax};
  std::vector<DeniedKey> denied_;
};

}  // namespace weir::lab
