#include "rules/rollout.h"

#include <algorithm>
#include <utility>

namespace weir {

RolloutLook look(const Rollout& rollout, RolloutWatch watch, const RolloutKeys& keys, Instant now) {
  using enum RolloutLook::Event;
  const auto at = std::ranges::find(rollout.steps, rollout.percent);
  const Duration passed = now - std::exchange(watch.looked, now);
  if (!rollout.stopped.empty()) return {.watch = watch, .to = *at};
  const bool denies_too_many =
      100 * static_cast<double>(keys.denied) > rollout.denied_max * static_cast<double>(keys.seen);
  if (denies_too_many && at != rollout.steps.begin()) {
    return {.watch = watch, .event = kStop, .to = *(at - 1)};
  }
  if (keys.seen > 0) watch.watched += std::clamp(passed, Duration{0}, RolloutWatch::kLookMax);
  if (watch.watched < rollout.every || at + 1 == rollout.steps.end()) {
    return {.watch = watch, .to = *at};
  }
  watch.watched = Duration{0};  // a refused step waits for another turn
  return {.watch = watch, .event = kStep, .to = *(at + 1)};
}

}  // namespace weir
