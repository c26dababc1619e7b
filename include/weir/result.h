// Result<T, E>: a value, or the reason why there is none. The library returns Result<T>, whose
// reason is an Error.
//
// A denied request is not an error: it is a Decision. An Error is a mistake of the caller or a
// failure of the world (an impossible quota, a store out of reach). A bug is neither: it stops the
// program (base/assert.h).
//
// Cost: an Error points at static text, so a Result<T> allocates nothing of its own.
// Thread rule: values. Tested by src/engine/limiter_test.cc.

#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

namespace weir {

enum class ErrorCode : std::uint8_t {
  kInvalidQuota,      // a limit, window, burst or algorithm that cannot be enforced
  kInvalidCost,       // a cost outside +-kCostMax (weir/quota.h)
  kTooManyCharges,    // more than Batch::kChargesMax charges in one request
  kTooManyHolds,      // of a key, or in all (weir/holding_store.h)
  kStoreUnavailable,  // the store could not answer; says nothing about the key
};

// Says what was wrong, and what would have been right. Both texts are static.
struct Error {
  ErrorCode code;
  std::string_view field;     // the argument at fault, e.g. "window"; may be empty
  std::string_view expected;  // e.g. "a duration from 1 ms to 366 days"
};

template <typename T, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  // Constructs the value in place.
  template <std::convertible_to<T> From>
    requires(!std::same_as<From, T> && !std::same_as<From, E>)
  Result(const From& from) : state_(std::in_place_index<0>, from) {}  // NOLINT: implicit

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // REQUIRES: has_value()
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(**this); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }

  // REQUIRES: !has_value()
  const E& error() const& noexcept { return *std::get_if<1>(&state_); }
  E& error() & noexcept { return *std::get_if<1>(&state_); }
  E&& error() && noexcept { return std::move(error()); }

 private:
  std::variant<T, E> state_;
};

}  // namespace weir
