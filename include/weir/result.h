// Result<T>: a value, or the reason there is none.
//
// A denied request is not an error: it is a Decision. An Error is what a caller
// or the world can get wrong (an impossible quota, a store out of reach).
// Programming mistakes are neither: they stop the program (base/assert.h).
//
// Cost: an Error points at static text, so a Result allocates nothing.
// Thread rule: values. Tested by src/engine/limiter_test.cc.

#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

namespace weir {

enum class ErrorCode : std::uint8_t {
  kInvalidQuota,      // a limit, window, burst or algorithm that cannot be enforced
  kInvalidCost,       // a cost outside +-kCostMax (weir/quota.h)
  kTooManyCharges,    // more than Batch::kChargesMax charges in one request
  kStoreUnavailable,  // the store could not answer; says nothing about the key
};

// What was wrong, and what would have been right. Both texts are static.
struct Error {
  ErrorCode code;
  std::string_view field;     // the argument at fault, e.g. "window"; may be empty
  std::string_view expected;  // e.g. "a duration from 1 ms to 366 days"
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}  // NOLINT: a value is a Result
  Result(Error error) : state_(error) {}         // NOLINT: so is an error

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // REQUIRES: has_value()
  const T& operator*() const noexcept { return *std::get_if<T>(&state_); }
  const T* operator->() const noexcept { return std::get_if<T>(&state_); }

  // REQUIRES: !has_value()
  const Error& error() const noexcept { return *std::get_if<Error>(&state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace weir
