// The value of a check's field, from either reader, and how the check takes it.
//
// Thread rule: values. Tested by check_body_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/duration_text.h"
#include "server/http/check/check_body.h"
#include "weir/store.h"

namespace weir {

// A field's value.
struct Value {
  enum class Kind : std::uint8_t { kOther, kText, kInteger, kFraction };

  Kind kind = Kind::kOther;
  std::string_view text{};  // decoded
  std::string_view json{};  // as in the body
  std::int64_t integer = 0;
  double fraction = 0;  // or an integer beyond std::int64_t
};

// Beyond any window, so it need not be exact; Quota::make says that it is too long.
inline constexpr std::int64_t kExactSecondsMax = 1'000'000'000;

// Each of these returns whether the value is valid for its field.

inline bool set_text(const Value& value, std::size_t least, std::string_view& text) {
  text = value.text;
  return value.kind == Value::Kind::kText && text.size() >= least && text.size() <= kKeyMax;
}

inline bool set_integer(const Value& value, std::int64_t least, std::int64_t& number) {
  number = value.integer;
  return value.kind == Value::Kind::kInteger && number >= least && number <= kLimitMax;
}

template <typename T>
bool set_known(std::optional<T> known, auto& field) {
  if (known) field = *known;
  return known.has_value();
}

// Checks only that it is a duration at all: Quota::make knows which ones make a window.
inline bool set_window(const Value& value, Duration& window) {
  switch (value.kind) {
    case Value::Kind::kText: return set_known(parse_duration(value.text), window);
    case Value::Kind::kFraction: return set_known(duration_from_seconds(value.fraction), window);
    case Value::Kind::kOther: return false;
    case Value::Kind::kInteger: break;
  }
  const bool is_exact = value.integer >= 0 && value.integer <= kExactSecondsMax;
  if (is_exact) window = std::chrono::seconds(value.integer);
  return is_exact || set_known(duration_from_seconds(static_cast<double>(value.integer)), window);
}

inline bool set_charge(const Value& value, CheckFields& fields) {
  const std::string_view name = value.text;
  fields.counting = Ask::Counting::kIfItFits;
  if (name == "always") fields.counting = Ask::Counting::kAlways;
  if (name == "drain") fields.counting = Ask::Counting::kOrWhatIsLeft;
  fields.resets = name == "reset";
  return fields.resets || name == "fits" || fields.counting != Ask::Counting::kIfItFits;
}

inline bool set_field(CheckField field, const Value& value, CheckFields& fields) {
  switch (field) {
    case CheckField::kKey: fields.key_json = value.json; return set_text(value, 1, fields.key);
    case CheckField::kLimit: return set_integer(value, 0, fields.limit);
    case CheckField::kWindow: return set_window(value, fields.window);
    case CheckField::kBucket: return set_text(value, 0, fields.bucket);
    case CheckField::kCost: return set_integer(value, -kCostMax, fields.cost);
    case CheckField::kBurst: return set_integer(value, 1, fields.burst);
    case CheckField::kAlgorithm:
      return set_known(algorithm_from_name(value.text), fields.algorithm);
    case CheckField::kRule: return set_text(value, 1, fields.rule);
    case CheckField::kTier: return set_text(value, 0, fields.tier);
    case CheckField::kMode: return set_known(mode_from_name(value.text), fields.mode);
    case CheckField::kCharge: return set_charge(value, fields);
  }
  return false;
}

}  // namespace weir
