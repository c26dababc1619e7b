// The locks of a store in a program with one thread, which needs none.
//
// Thread rule: one thread. Tested by wasm/module_test.mjs.

#pragma once

namespace weir {

struct HoldMutex {
  void lock() {}
  void unlock() {}
};

class ShardMutex {
 public:
  enum class State : unsigned char { kWhole, kDamaged };

  void share() {}
  State lock() { return State::kWhole; }
  void unlock() {}
};

}  // namespace weir
