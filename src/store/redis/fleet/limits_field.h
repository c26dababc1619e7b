// LimitsField: when several nodes see a key of a shared limit reach the same part of it, one node
// alone tells people (engine/asks/limit_notices.h).
//
//   limits:HASHPERCENT  ->  "END NODE": when the window ends, by Redis's clock, and who tells
//
// Two notices are of the same fixed window if their ends are less than three quarters of a window
// apart: windows of calendars differ, and nodes hear late. Other windows last their whole length,
// less a second, from when somebody was told. A node repeats what was not answered, and Redis names
// the same node again: so a lost answer hides nothing.
//
// Thread rule: one core of the node. Tested by tests/redis/limits_field_test.cc and
// tests/e2e/notify_test.py.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/asks/limit_notices.h"
#include "store/redis/fleet/beat_fields.h"

namespace weir {

class LimitsField final : public BeatField {
 public:
  static constexpr std::size_t kNoticesMax = 64;  // in one beat

  // `notices` must outlive the field.
  LimitsField(std::string node, LimitNotices& notices)
      : node_(std::move(node)), notices_(notices) {}

  std::string_view name() const override { return "limits"; }
  std::optional<Instant> due() const override {
    return said_.empty() && !notices_.has_shared() ? Instant::max() : Instant{};
  }
  void say(std::vector<std::string>& words, Instant now) override;
  std::string hear(const resp::Reply& told, Instant now) override;

 private:
  const std::string node_;
  LimitNotices& notices_;
  std::vector<LimitNotice> said_;  // in a beat that was not answered yet
};

}  // namespace weir
