#include "simulate/shrink.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "simulate/run.h"

namespace weir::sim {
namespace {

class Shrinker {
 public:
  Shrinker(Scenario scenario, std::uint64_t seed, std::string promise, std::size_t runs_max)
      : smallest_(std::move(scenario)),
        seed_(seed),
        promise_(std::move(promise)),
        runs_max_(runs_max) {}

  // Goes on until a whole round changes nothing.
  Shrunk shrunk() {
    while (round() && runs_ < runs_max_) {
    }
    return {.scenario = smallest_, .runs = runs_};
  }

 private:
  using Change = std::function<void(Scenario&)>;

  bool round() {
    bool is_smaller = try_each(&Scenario::faults);
    is_smaller |= try_each(&Scenario::traffic);
    is_smaller |= try_each(&Scenario::questions);
    is_smaller |= try_each(&Scenario::rules);
    is_smaller |= attempt([](Scenario& smaller) { --smaller.nodes; });
    is_smaller |= attempt([](Scenario& smaller) { smaller.length /= 2; });
    is_smaller |= attempt([](Scenario& smaller) { smaller.skew = Duration(0); });
    is_smaller |= attempt([](Scenario& smaller) { smaller.drift = 0; });
    is_smaller |= attempt([](Scenario& smaller) { smaller.loss = 0; });
    for (std::size_t i = 0; i < smallest_.traffic.size(); ++i) is_smaller |= calm(i);
    return is_smaller;
  }

  bool calm(std::size_t i) {
    const auto change = [&](auto part, auto value) {
      if (smallest_.traffic[i].*part == value) return false;
      return attempt([&](Scenario& smaller) { smaller.traffic[i].*part = value; });
    };
    bool is_smaller = change(&TrafficSource::looks, 0);
    is_smaller |= change(&TrafficSource::refunds, 0);
    is_smaller |= change(&TrafficSource::charges, 0);
    is_smaller |= change(&TrafficSource::cost, 1);
    is_smaller |=
        change(&TrafficSource::keys, std::max<std::int64_t>(1, smallest_.traffic[i].keys / 2));
    return is_smaller;
  }

  template <typename Item>
  bool try_each(std::vector<Item> Scenario::*list) {
    bool is_smaller = false;
    for (std::size_t i = (smallest_.*list).size(); i > 0; --i) {
      is_smaller |= attempt([&](Scenario& smaller) {
        (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(i - 1));
      });
    }
    return is_smaller;
  }

  // Keeps the change if the result is a valid scenario, differs, and breaks the same promise.
  bool attempt(const Change& change) {
    Scenario smaller = smallest_;
    change(smaller);
    const std::string text = to_yaml(smaller);
    if (runs_ >= runs_max_ || text == to_yaml(smallest_) || !read_scenario(text, "")) return false;
    ++runs_;
    const Outcome outcome = run(smaller, seed_, nullptr);
    if (!outcome.violation || outcome.violation->promise != promise_) return false;
    smallest_ = std::move(smaller);
    return true;
  }

  Scenario smallest_;
  const std::uint64_t seed_;
  const std::string promise_;
  const std::size_t runs_max_;
  std::size_t runs_ = 0;
};

}  // namespace

Shrunk shrink(const Scenario& scenario, std::uint64_t seed, const std::string& promise,
              std::size_t runs_max) {
  return Shrinker(scenario, seed, promise, runs_max).shrunk();
}

}  // namespace weir::sim
