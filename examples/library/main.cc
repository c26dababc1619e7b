// A program that links libweir: five logins a minute for each user, and a thousand
// requests a minute for all of them together.

#include <array>
#include <chrono>
#include <iostream>

#include "weir/limiter.h"
#include "weir/memory_store.h"

using namespace std::chrono_literals;

int main() {
  const weir::SystemClock clock;
  const auto store = weir::make_memory_store({}, clock.now());
  const weir::Limiter limiter(*store, clock, {.limit = 5, .window = 1min});

  for (int attempt = 1; attempt <= 6; ++attempt) {
    const auto decision = limiter.hit("login", "ann");
    if (!decision) return 1;  // only a store that is out of reach, or a wrong quota
    std::cout << "login " << attempt << ": ";
    if (decision->allowed()) {
      std::cout << "allowed, " << decision->remaining << " left\n";
    } else {
      std::cout << "denied, retry after " << weir::whole_seconds(decision->retry_after) << " s\n";
    }
  }

  // Limits can differ from call to call, and several can be charged as one.
  const std::array hits = {
      weir::Hit{"search", "ann", {.cost = 2, .limit = 10}},
      weir::Hit{"search", "everyone", {.algorithm = weir::Algorithm::kTokenBucket, .limit = 1000}},
  };
  std::array<weir::Decision, hits.size()> decisions;
  const auto all_allowed = limiter.hit(hits, decisions);
  if (!all_allowed) return 1;
  std::cout << "search: " << (*all_allowed ? "allowed" : "denied") << ", " << decisions[0].remaining
            << " left for ann, " << decisions[1].remaining << " for everyone\n";
}
