#include "store/redis/fleet/traffic_word.h"

#include <algorithm>

namespace weir {
namespace {

constexpr char kVersion = '1';
constexpr std::size_t kHashBytes = 8;

void put(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

void put(std::string& bytes, const TrafficCounts& counts) {
  put(bytes, std::min(counts.requests, TrafficWord::kSecondMax));
  put(bytes, std::min(counts.denied, TrafficWord::kSecondMax));
}

void put_hash(std::string& bytes, std::uint64_t hash) {
  for (std::size_t i = 0; i < kHashBytes; ++i) bytes.push_back(static_cast<char>(hash >> (8 * i)));
}

// Reads on from where it is. After the first thing that is wrong it reads zeros.
class Source {
 public:
  explicit Source(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number(std::uint64_t most) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      const auto byte = static_cast<unsigned char>(take());
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) return number <= most ? number : fail();
    }
    return fail();
  }

  TrafficCounts counts() {
    TrafficCounts counts;
    counts.requests = number(TrafficWord::kSecondMax);
    counts.denied = number(counts.requests);
    return counts;
  }

  std::uint64_t hash() {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < kHashBytes; ++i) {
      hash |= std::uint64_t{static_cast<unsigned char>(take())} << (8 * i);
    }
    return hash;
  }

  char take() {
    if (rest_.empty()) return static_cast<char>(fail());
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }

  bool is_whole() const { return is_right_ && rest_.empty(); }

 private:
  std::uint64_t fail() {
    is_right_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool is_right_ = true;
};

}  // namespace

std::string to_bytes(const TrafficWord& word) {
  std::string bytes(1, kVersion);
  put(bytes, word.all);
  put(bytes, word.totals.denied);
  put(bytes, word.totals.decisions.size());
  for (const std::uint64_t decisions : word.totals.decisions) put(bytes, decisions);
  put(bytes, word.rules.size());
  for (const TrafficWord::Rule& rule : word.rules) {
    put_hash(bytes, rule.hash);
    put(bytes, rule.counts);
  }
  return bytes;
}

std::optional<TrafficWord> traffic_word(std::string_view bytes) {
  Source source(bytes);
  if (source.take() != kVersion) return std::nullopt;
  TrafficWord word;
  word.all = source.counts();
  word.totals.denied = source.number(TrafficWord::kTotalMax);
  const auto algorithms = source.number(TrafficWord::kAlgorithmsMax);
  for (std::size_t i = 0; i < algorithms; ++i) {
    const auto decisions = source.number(TrafficWord::kTotalMax);
    if (i < word.totals.decisions.size()) word.totals.decisions[i] = decisions;
  }
  const auto rules = source.number(TrafficWord::kRulesMax);
  for (std::size_t i = 0; i < rules; ++i) {
    const auto hash = source.hash();
    word.rules.push_back({.hash = hash, .counts = source.counts()});
  }
  if (!source.is_whole()) return std::nullopt;
  return word;
}

}  // namespace weir
