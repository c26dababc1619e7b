#include "store/redis/fleet/early_charges.h"

#include <algorithm>
#include <utility>

#include "algo/sliding_window.h"

namespace weir {

bool EarlyCharges::keeps_times(const Quota& quota) {
  return quota.algorithm() == Algorithm::kSlidingLog ||
         quota.algorithm() == Algorithm::kStrictWindow;
}

// The outage may have lasted for many windows.
std::int64_t EarlyCharges::Counted::still(Instant now) const {
  if (!keeps_times(quota)) return std::min(units, held(quota, state, now));
  const auto& [start_us, before, count, tag] = state;
  const auto rolled = algo::roll(quota, algo::SlidingWindowState{start_us, before, count}, now);
  return std::min(units, rolled.previous + rolled.current);
}

std::size_t EarlyCharges::size_of(const Name& name) {
  return std::get<0>(name).size() + std::get<1>(name).size() + std::get<2>(name).size();
}

void EarlyCharges::note(const KeyName& name, std::span<const Quota> limits, std::int64_t cost,
                        Instant now) {
  if (cost <= 0) return;
  std::vector<Counted>* const counted = place_for(name, now);
  if (counted == nullptr) {
    forgotten_ += cost * static_cast<std::int64_t>(limits.size());
    return;
  }
  counted->resize(limits.size());  // a changed rule may have other limits
  for (std::size_t index = 0; index < limits.size(); ++index) {
    Counted& one = (*counted)[index];
    const Quota& quota = limits[index];
    const bool is_another =
        one.quota.algorithm() != quota.algorithm() || one.quota.window() != quota.window();
    if (is_another) one = {};
    one.quota = quota;
    charge(quota, one.state, cost, now);
    one.units = std::min(kCostMax, one.units + cost);
  }
}

// Null: there is no room.
std::vector<EarlyCharges::Counted>* EarlyCharges::place_for(const KeyName& name, Instant now) {
  Name texts(name.rule, name.bucket, name.key);
  const auto found = keys_.find(texts);
  if (found != keys_.end()) return &found->second;
  const std::size_t size = size_of(texts);
  const auto is_full = [&] { return keys_.size() >= kKeysMax || text_ + size > kTextMax; };
  if (is_full()) sweep(now);
  if (is_full()) return nullptr;
  auto& made = keys_[std::move(texts)];
  text_ += size;
  return &made;
}

void EarlyCharges::sweep(Instant now) {
  if (now - swept_at_ < kSweepEvery) return;
  swept_at_ = now;
  std::erase_if(keys_, [&](const auto& key) {
    const auto& [name, counted] = key;
    const bool is_over =
        std::ranges::all_of(counted, [now](const Counted& one) { return one.still(now) == 0; });
    if (is_over) text_ -= size_of(name);
    return is_over;
  });
}

void EarlyCharges::tell(const KeyHasher& hasher, Instant now, const Take& take) {
  for (const auto& [texts, counted] : std::exchange(keys_, {})) {
    const auto& [rule, bucket, key] = texts;
    const KeyName name{.rule = rule, .bucket = bucket, .key = key};
    const std::uint64_t first = hasher.hash(name, counted.front().quota).low;
    for (const Counted& one : counted) {
      const std::int64_t units = one.still(now);
      const std::uint64_t tag = counted.size() > 1 ? first : 0;
      if (units > 0) take(name, {hasher.hash(name, one.quota), &one.quota, units, tag});
    }
  }
  text_ = 0;
}

}  // namespace weir
