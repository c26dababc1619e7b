#include "cli/node/rule_changer.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <new>
#include <utility>

#include "base/if_memory.h"
#include "rulebook/rule_text.h"

namespace weir {

RuleChanger::RuleChanger(Rulebook& book, SharedRules* fleet, std::string title)
    : book_(book),
      fleet_(fleet),
      title_(std::move(title)),
      thread_([this](const std::stop_token& stop) { work_off(stop); }) {}

void RuleChanger::change(RuleChange change, Done done, Instant now) {
  run([this, change = std::move(change), now] { return make(change, now); }, std::move(done));
}

RuleReply RuleChanger::make(RuleChange change, Instant now) {
  auto& author = change.author;
  if (fleet_ != nullptr) {
    follow(now);
    author.who += (author.who.empty() ? "" : ", at ") + title_;
  }
  SharedHead offered;
  Rulebook::Agree agree;
  if (fleet_ != nullptr) agree = [&](std::string by_hand) { offered = offer(std::move(by_hand)); };
  RuleReply reply = book_.change(change, agree, now);
  for (const auto& line : reply.changes) {
    spdlog::info("by request: {}, by {}{}", line, describe(author), reason_of(author));
  }
  for (const auto& sentence : reply.warnings) {
    spdlog::warn("by request: {}: {}", change.id, sentence);
  }
  if (fleet_ == nullptr) return reply;
  if (is_refusal(reply.outcome)) {
    follow(now);
    reply.version = book_.view()->version;
    return reply;
  }
  fleet_->judge(offered, {});
  reply.hold = fleet_->await_nodes(kNodesMax);
  return reply;
}

SharedHead RuleChanger::offer(std::string by_hand) {
  if (by_hand.size() > SharedRules::kBytesMax) {
    throw RuleRefusal{ChangeOutcome::kConflict,
                      "The rules that requests have changed are longer than what nodes tell each "
                      "other, 128 KiB; put them into the file."};
  }
  const auto offered = fleet_->offer(std::move(by_hand), kOfferMax);
  if (!offered) {
    throw RuleRefusal{ChangeOutcome::kConflict,
                      "Another node has changed the rules meanwhile; they are in force here now. "
                      "Look at them, and ask again."};
  }
  return *offered;
}

std::optional<RuleHold> RuleChanger::hold() const {
  return fleet_ == nullptr ? std::nullopt : std::optional(fleet_->hold());
}

void RuleChanger::follow_fleet(Instant now) {
  run(
      [this, now] {
        follow(now);
        return RuleReply();
      },
      [](const RuleReply&) {});
}

void RuleChanger::follow(Instant now) {
  const auto news = fleet_->news();
  if (!news) return;
  if (news->has_replaced) {
    spdlog::warn(
        "a change of the rules by request is gone: other nodes have not heard of it, "
        "and have changed the rules meanwhile");
  }
  std::string why_not;
  try {
    const auto by = news->has_skipped ? RuleAuthors::kSeveral : RuleAuthors::kOne;
    for (const auto& line : book_.follow(news->version.bytes, by, now)) {
      spdlog::info("by another node: {}", line);
    }
  } catch (const RuleRefusal& refusal) {
    why_not = refusal.detail;
    spdlog::warn("this node keeps its rules, while others have changed theirs by request: {}",
                 why_not);
  }
  fleet_->judge(news->version.head, std::move(why_not));
}

Rulebook::Loaded RuleChanger::load(Config config, Instant now) {
  if (fleet_ == nullptr) return book_.load(std::move(config), now);
  const SharedRules::Version version = fleet_->current();
  auto in_file = config_sources(config.text);
  auto loaded = book_.load(std::move(config), std::move(in_file), version.bytes, now);
  fleet_->judge(version.head, loaded.refusal);
  return loaded;
}

// A single node does not know the counts that a fleet shares.
RuleVerdict RuleChanger::verdict_on(const RuleTrial& trial, Instant now) const {
  RuleVerdict verdict = book_.judge(trial, memory_, now);
  if (fleet_ == nullptr || fleet_->hold().nodes.size() < 2) return verdict;
  const RuleSetPtr rules = book_.rules();
  for (DryRun& run : verdict.dry_runs) {
    const Rule* const rule = rules->find(run.rule);
    if (!run.unknown.empty() || (rule != nullptr && rule->mode == Mode::kLocal)) continue;
    run = {.rule = run.rule,
           .unknown =
               "This node has its own requests alone, so nobody knows what the fleet would deny."};
  }
  return verdict;
}

void RuleChanger::judge(RuleTrial trial, Judged done, Instant now) {
  const bool is_dry_run = trial.over > Duration{0};
  trial.precise_keys = precise_keys_;
  if (is_dry_run && has_dry_run_.test_and_set()) {
    return done({.outcome = ChangeOutcome::kNotNow, .detail = "Another dry run is under way."});
  }
  const auto verdict = std::make_shared<RuleVerdict>();
  run(
      [this, verdict, trial = std::move(trial), now] {
        *verdict = verdict_on(trial, now);
        return RuleReply();
      },
      [this, is_dry_run, verdict, done = std::move(done)](const RuleReply& reply) {
        if (is_dry_run) has_dry_run_.clear();
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

// Refuses a change that throws: the rules in force stay, and the thread goes on.
RuleReply RuleChanger::reply_to(const Job& job) const {
  try {
    return job.work();
  } catch (const std::bad_alloc&) {
    return refusal("Out of memory.");  // short enough to need no memory
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
