// Atomic128 of a program with one thread: sixteen bytes of plain memory. Takes the place of
// src/base/atomic128.h, as WebAssembly has no instruction that exchanges sixteen bytes.
//
// Thread rule: one thread. Tested by wasm/differential_test.mjs.

#pragma once

#include <cstdint>

namespace weir {

__extension__ typedef unsigned __int128 Uint128;

class alignas(16) Atomic128 {
 public:
  Uint128 load() const noexcept { return value_; }
  std::uint64_t load_high() const noexcept { return static_cast<std::uint64_t>(value_ >> 64); }
  bool compare_exchange(Uint128 expected, Uint128 desired) noexcept {
    if (value_ != expected) return false;
    value_ = desired;
    return true;
  }

 private:
  Uint128 value_ = 0;
};

}  // namespace weir
