// EarlyCharges: what a core has admitted alone before it knew the fleet's secret.
//
// Keys have no names in Redis until then, so their texts are kept: when the secret is known, each
// key is charged what its limits still count. Bounded: beyond kKeysMax keys, or kTextMax of their
// texts, charges of further keys are forgotten, and counted as such.
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

  // The cost was charged to all of the limits.
  void note(const KeyName& name, std::span<const Quota> limits, std::int64_t cost, Instant now);

  // Whether counters of the quota know when each unit came. What is told of it here is what may
  // still count at most.
  static bool keeps_times(const Quota& quota);

  // Passes on what still counts, under the fleet's names, and forgets it.
  using Take = std::function<void(const KeyName& name, const Charge& charge)>;
  void tell(const KeyHasher& hasher, Instant now, const Take& take);

  std::int64_t forgotten() const { return forgotten_; }  // units

 private:
  // Looking for keys to which nothing is owed any more takes a while.
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
