// KeyLedger: what became of each key of each rule. Bounded: keys beyond the first kKeysMax are
// judged, but not told apart; of the keys that were denied the first kDeniedMax are known by name.
//
// Thread rule: one thread. Tested by tests/lab/replay_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/time.h"

namespace weir::lab {

// Numbers the keys of rules, from 0 on.
class KeyNumbers {
 public:
  // Nothing if there are so many already and the key is another one.
  std::optional<std::uint32_t> find(std::uint32_t rule, std::string_view key, std::size_t keys_max);
  std::size_t size() const { return hashes_.size(); }

 private:
  void grow();

  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> index_;  // numbers and one, by hash; 0: a free place
};

struct DeniedKey {
  std::string key;
  std::string client;  // of the request that was denied first, as the log has it
  Instant first{};
  Instant last{};
  std::uint32_t burst = 0;  // requests since its last pause of a window, with the one denied
  Duration burst_length{};
};

struct KeyRecord {
  std::uint32_t rule = 0;
  std::uint32_t details = 0;  // the number of its DeniedKey; 0: none
  std::uint32_t requests = 0;
  std::uint32_t denied = 0;
  std::uint32_t newly = 0;      // of them, those that the other rules allowed
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

  // The number of the key's record; nothing if there is no room for another.
  std::optional<std::uint32_t> find(std::uint32_t rule, std::string_view key) {
    const auto number = numbers_.find(rule, key, kKeysMax);
    if (number == records_.size()) records_.push_back({.rule = rule});
    return number;
  }
  KeyRecord& operator[](std::uint32_t number) { return records_[number]; }

  // Counts a request. A burst ends with a pause of `window`.
  static void count(KeyRecord& record, Duration window, Instant now);
  // Counts its denial. `key` and `client` are kept of the first.
  void deny(KeyRecord& record, std::string_view key, std::string_view client, Instant now);

  const std::vector<KeyRecord>& records() const { return records_; }
  // REQUIRES: record.details > 0
  const DeniedKey& details(const KeyRecord& record) const { return denied_[record.details - 1]; }

 private:
  KeyNumbers numbers_;
  std::vector<KeyRecord> records_;
  std::vector<DeniedKey> denied_;
};

}  // namespace weir::lab
