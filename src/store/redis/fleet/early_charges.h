// EarlyCharges: units that a core has admitted alone before it knew the fleet's secret.
//
// Until then keys have no names in Redis, so this keeps their texts. When the core knows the
// secret, this charges each key what its limits still count. Bounded: beyond kKeysMax keys, or
// kTextMax of their texts, it forgets charges of further keys, and counts them as forgotten.
//
// Thread rule: one core. Tested by early_charges_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "store/redis/async/synced_state.h"
#include "weir/key.h"
#include "weir/store.h"

namespace weir {

class EarlyCharges {
 public:
  static constexpr std::size_t kKeysMax = 16'384;
  static constexpr std::size_t kTextMax = std::size_t{4} << 20;  // bytes

  // The cost was charged to all of `limits`.
  void note(const KeyName& name, std::span<const Quota> limits, std::int64_t cost, Instant now);

  // Whether counters of the quota know when each unit came. tell() then passes on the most that may
  // still count.
  static bool keeps_times(const Quota& quota);

  // Passes on the charges that still count, under the fleet's names, and forgets them.
  using Take = std::function<void(const KeyName& name, const Charge& charge)>;
  void tell(const KeyHasher& hasher, Instant now, const Take& take);

  std::int64_t forgotten() const { return forgotten_; }  // units

 private:
  // A search for keys to which nothing is owed any more takes a while.
  static constexpr Duration kSweepEvery = std::chrono::seconds(1);

  struct Counted {
    Quota quota;
    SyncedState state{};
    std::int64_t units = 0;

    std::int64_t still(Instant now) const;
  };
  using Name = std::tuple<std::string, std::string, std::string>;  // rule, bucket, key
  using Keys = std::map<Name, std::vector<Counted>>;

  static std::size_t size_of(const Name& name);
  std::vector<Counted>* place_for(const KeyName& name, Instant now);
  void sweep(Instant now);

  Keys keys_;
  std::size_t text_ = 0;  // bytes of names
  std::int64_t forgotten_ = 0;
  Instant swept_at_{};
};

}  // namespace weir
