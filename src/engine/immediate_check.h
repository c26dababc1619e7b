// ImmediateCheck: a Check for a store that answers before decide() returns, as the one
// in memory does.
//
// Thread rule: as Check. Tested by engine_test.cc.

#pragma once

#include "base/assert.h"
#include "engine/engine.h"

namespace weir {

class ImmediateCheck : public Check {
 public:
  void begin(Operation operation) {
    done_ = false;
    Check::begin(operation,
                 [](Check& check) noexcept { static_cast<ImmediateCheck&>(check).done_ = true; });
  }

  // False if the store could not answer.
  bool decide(Store& store, Instant now) {
    Check::decide(store, now);
    WEIR_ASSERT(done_);
    return error() == StoreError::kNone;
  }

 private:
  bool done_ = false;
};

}  // namespace weir
