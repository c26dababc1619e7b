#include "cli/node/rule_changer.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <new>
#include <utility>

#include "base/if_memory.h"

namespace weir {

RuleChanger::RuleChanger(Rulebook& book)
    : book_(book), thread_([this](const std::stop_token& stop) { work_off(stop); }) {}

void RuleChanger::change(RuleChange change, Done done, Instant now) {
  run(
      [this, change = std::move(change), now] {
        auto reply = book_.change(change, now);
        for (const auto& line : reply.changes) spdlog::info("by request: {}", line);
        for (const auto& sentence : reply.warnings) {
          spdlog::warn("by request: {}: {}", change.id, sentence);
        }
        return reply;
      },
      std::move(done));
}

void RuleChanger::judge(RuleTrial trial, Judged done) {
  const auto verdict = std::make_shared<RuleVerdict>();
  run(
      [this, verdict, trial = std::move(trial)] {
        *verdict = book_.judge(trial);
        return RuleReply();
      },
      [verdict, done = std::move(done)](const RuleReply& reply) {
        verdict->outcome = reply.outcome;
        verdict->detail = reply.detail;
        done(std::move(*verdict));
      });
}

void RuleChanger::run(Work work, Done done) {
  const char* why = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (thread_.get_stop_token().stop_requested()) {
      why = "The server is stopping.";
    } else if (waiting_.size() == kWaitingMax) {
      why = "Too many changes wait for their turn.";
    } else {
      waiting_.push_back({.work = std::move(work), .done = std::move(done)});
    }
  }
  if (why != nullptr) return done(refusal(why));
  wake_.notify_one();
}

void RuleChanger::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void RuleChanger::work_off(const std::stop_token& stop) {
  for (;;) {
    auto lock = std::unique_lock(mutex_);
    if (!wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
    const auto job = std::move(waiting_.front());
    waiting_.pop_front();
    const bool is_late = stop.stop_requested();
    lock.unlock();
    // The change is made or refused; without memory the message to the client's core is lost.
    has_memory_for([&] { job.done(is_late ? refusal("The server is stopping.") : reply_to(job)); });
  }
}

// A change that throws is refused: the rules in force stay, and the thread goes on.
RuleReply RuleChanger::reply_to(const Job& job) const {
  try {
    return job.work();
  } catch (const std::bad_alloc&) {
    return refusal("Out of memory.");  // short: it wants none
  } catch (const std::exception& error) {
    return refusal(error.what());
  }
}

RuleReply RuleChanger::refusal(std::string detail) const {
  return {.outcome = ChangeOutcome::kNotNow,
          .detail = std::move(detail),
          .version = book_.view()->version};
}

}  // namespace weir
