#include "accuracy/trial.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "accuracy/windows.h"

namespace weir::lab {

class Trial::Contender {
 public:
  virtual ~Contender() = default;
  // The exact log takes the requests first, and leaves the truth.
  virtual void take(const std::vector<Instant>& times, const Life& life,
                    std::vector<std::uint8_t>& truth) = 0;

  WindowTally tally;
};

template <typename Window>
class Trial::Runs final : public Contender {
 public:
  Runs(std::string name, const Quota& quota) : quota_(quota), window_(quota) {
    tally.window = std::move(name);
  }

  void take(const std::vector<Instant>& times, const Life& life,
            std::vector<std::uint8_t>& truth) override {
    judge_all(times);
    tally.bytes += window_.bytes(life);
    ++tally.sources;
    tally.requests += times.size();
    if constexpr (std::is_same_v<Window, ExactLog>) truth = verdicts_;
    bool is_ever_over = false;
    bool denies = false;
    for (std::size_t i = 0; i < times.size(); ++i) {
      is_ever_over = is_ever_over || truth[i] != 0;
      denies = denies || verdicts_[i] != 0;
      tally.over += truth[i];
      tally.false_positives += verdicts_[i] & ~truth[i] & 1;
      tally.false_negatives += truth[i] & ~verdicts_[i] & 1;
    }
    if (is_ever_over || denies) {
      const std::uint64_t admitted = admit(times);
      if (is_ever_over) tally.admitted += admitted;
    }
  }

 private:
  // Counts all requests, and measures the time for that.
  void judge_all(const std::vector<Instant>& times) {
    verdicts_.resize(times.size());
    window_.clear();
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < times.size(); ++i) {
      verdicts_[i] = window_.is_over(times[i]) ? 1 : 0;
      window_.add(times[i]);
    }
    tally.took += std::chrono::steady_clock::now() - begin;
  }
  // Counts the requests that it admits, and returns how many these are.
  std::uint64_t admit(const std::vector<Instant>& times) {
    window_.clear();
    admitted_.clear();
    std::size_t oldest = 0;  // the oldest in the window that ends now
    for (const Instant now : times) {
      if (window_.is_over(now)) continue;
      window_.add(now);
      admitted_.push_back(now);
      while (admitted_[oldest] <= now - quota_.window()) ++oldest;
      tally.worst = std::max(tally.worst, static_cast<std::int64_t>(admitted_.size() - oldest));
    }
    return admitted_.size();
  }

  const Quota& quota_;
  Window window_;
  std::vector<std::uint8_t> verdicts_;
  std::vector<Instant> admitted_;
};

Trial::Trial(std::int64_t limit, Duration window)
    : quota_(*Quota::make(
          {.algorithm = Algorithm::kSlidingWindow, .limit = limit, .window = window})) {
  contenders_.push_back(std::make_unique<Runs<ExactLog>>("exact log", quota_));
  contenders_.push_back(std::make_unique<Runs<TwoCounters>>("two counters", quota_));
  contenders_.push_back(
      std::make_unique<Runs<StrictSubWindows>>("five strict sub-windows", quota_));
  contenders_.push_back(std::make_unique<Runs<PreciseWindow>>("precise past a quarter", quota_));
}

Trial::~Trial() = default;

void Trial::take(const std::vector<Instant>& times, Duration length) {
  const double windows = length / std::chrono::duration<double, Duration::period>(quota_.window());
  const Life life{.length = length, .per_window = static_cast<double>(times.size()) / windows};
  for (const auto& contender : contenders_) contender->take(times, life, truth_);
}

std::vector<WindowTally> Trial::tallies() const {
  std::vector<WindowTally> all;
  for (const auto& contender : contenders_) all.push_back(contender->tally);
  return all;
}

}  // namespace weir::lab
