// ImmediateCheck: a Check for a store that answers before decide() returns, as the one
// in memory does. A store that answers later needs a session that waits.
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
  bool decide(Engine& engine, Instant now) {
    engine.decide(*this, now);
    WEIR_ASSERT(done_);
    return error() == StoreError::kNone;
  }

 private:
  bool done_ = false;
};

}  // namespace weir
