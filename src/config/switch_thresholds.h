// SwitchThresholds: when rules that are adaptive switch (engine/switching/traffic_switch.h).
//
// Thread rule: a value. Tested by src/engine/switching/traffic_switch_test.cc.

#pragma once

#include "weir/time.h"

namespace weir {

// `adaptive:` of the configuration, which says what each means (config/setting_fields.cc).
struct SwitchThresholds {
  double burst_ratio = 3;
  double burst_ratio_leave = 2;
  double denied_share = 0.5;
  double denied_share_leave = 0.3;
  double rate_min = 20;  // requests a second
  double rate_leave = 10;
  Duration dwell = std::chrono::seconds(5);

  friend bool operator==(const SwitchThresholds&, const SwitchThresholds&) = default;
};

}  // namespace weir
