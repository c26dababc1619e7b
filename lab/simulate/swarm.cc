#include "simulate/swarm.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

namespace weir::sim {

SwarmFigures run_swarm(const SwarmOptions& options, const std::function<Duration()>& elapsed,
                       const std::function<void(const SwarmFigures&)>& progress) {
  SwarmFigures figures;
  std::mutex mutex;  // guards figures, done and progress
  std::set<std::uint64_t> done;
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    while (elapsed() < options.time_max) {
      const std::uint64_t index = next.fetch_add(1);
      if (index >= options.seeds) return;
      const std::uint64_t seed = options.from + index;
      const Scenario scenario = draw_scenario(seed);
      const Outcome outcome = run(scenario, seed, nullptr);
      const auto lock = std::scoped_lock(mutex);
      done.insert(index);
      while (done.erase(figures.done) > 0) ++figures.done;
      figures.decisions += outcome.tally.decisions();
      figures.simulated += scenario.length;
      if (outcome.violation) figures.failed.push_back({seed, *outcome.violation});
      progress(figures);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < options.threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::ranges::sort(figures.failed, {}, &FailedSeed::seed);
  return figures;
}

}  // namespace weir::sim
