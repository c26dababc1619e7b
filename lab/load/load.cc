#include "load/load.h"

#include <algorithm>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/assert.h"
#include "load/worker.h"
#include "replay/progress.h"

namespace weir::load {
namespace {

std::unique_ptr<Worker> make_worker(const Target& target, const LoadPlan& plan,
                                    const CodecFactory& codec, std::size_t index) {
  const auto share_of = [&](std::uint64_t total) {
    return total / plan.threads + (index < total % plan.threads ? 1 : 0);
  };
  LoadPlan share = plan;
  share.connections = share_of(plan.connections);
  share.requests_max = share_of(plan.requests_max);
  if (plan.rate) share.rate = *plan.rate / static_cast<double>(plan.threads);
  // Neighbouring seeds are as different as any: SplitMix64 scrambles its counter.
  share.seed = Prng(plan.seed + index).next();
  return std::make_unique<Worker>(target, share, codec);
}

void add(const LoadResult& part, LoadResult& total) {
  total.outcome.tally += part.outcome.tally;
  total.outcome.latency.merge(part.outcome.latency);
  total.lost += part.lost;
  total.unanswered += part.unanswered;
  total.unsent += part.unsent;
  total.reconnects += part.reconnects;
  total.elapsed = std::max(total.elapsed, part.elapsed);
  total.cpu += part.cpu;
}

// Shows meanwhile how much of the longest duration has passed.
void wait_for(std::counting_semaphore<>& ended, const LoadPlan& plan, Time start) {
  lab::Progress progress;
  for (std::size_t left = plan.threads; left > 0;) {
    if (ended.try_acquire_for(std::chrono::seconds(1))) {
      --left;
    } else {
      progress.show(std::chrono::duration<double>(LoadClock::now() - start) / plan.duration);
    }
  }
}

}  // namespace

double LoadResult::per_second() const {
  if (elapsed <= Nanoseconds{0}) return 0;
  return static_cast<double>(outcome.tally.replies) * 1e9 / static_cast<double>(elapsed.count());
}

LoadResult run_load(const Target& target, const LoadPlan& plan, const CodecFactory& codec) {
  WEIR_ASSERT(plan.threads >= 1 && plan.threads <= plan.connections);
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t index = 0; index < plan.threads; ++index) {
    workers.push_back(make_worker(target, plan, codec, index));
  }

  // Beyond this point everything is connected, and time counts.
  const Time start = LoadClock::now();
  std::vector<LoadResult> parts(plan.threads);
  {
    std::counting_semaphore<> ended(0);
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < plan.threads; ++index) {
      threads.emplace_back([&, index] {
        parts[index] = workers[index]->run(start);
        ended.release();
      });
    }
    wait_for(ended, plan, start);
  }
  LoadResult total;
  for (const LoadResult& part : parts) add(part, total);
  return total;
}

}  // namespace weir::load
