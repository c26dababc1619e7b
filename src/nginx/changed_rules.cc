#include "nginx/changed_rules.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "config/config_warnings.h"
#include "config/rules/rule_sources.h"
#include "rulebook/rule_text.h"

namespace weir::nginx {
namespace {

using enum ChangeOutcome;

std::vector<RuleSource> sources_in(const RulesView& view) {
  std::vector<RuleSource> sources;
  for (const RuleView& rule : view.rules) sources.push_back({.id = rule.id, .json = rule.json});
  return sources;
}

}  // namespace

ChangedRules::ChangedRules(World world, Instant now)
    : world_(std::move(world)),
      book_(
          {}, [this](std::vector<Rule> rules, RequestSources) { return compile(std::move(rules)); },
          [this] { put_to_use(); }) {
  // The first catch_up() reads changes from before this worker.
  book_.number_from(world_.board.version_of_file());
  book_.load(world_.gateway.config(), world_.gateway.texts(), {}, now);
}

// The first rules are the file's, of which the master has made sets.
RuleSetPtr ChangedRules::compile(std::vector<Rule> rules) {
  if (sets_.empty()) return world_.gateway.sets().front();
  for (Rule& rule : rules) rule.number = world_.ids.known(rule.id);
  auto made = world_.gateway.sets_of(std::move(rules));
  if (!made) throw RuleRefusal{kConflict, std::move(made.error().message)};
  next_ = *std::move(made);
  return next_.front();
}

void ChangedRules::put_to_use() noexcept {
  if (sets_.empty()) {
    sets_ = world_.gateway.sets();
    return;
  }
  former_ = std::exchange(sets_, std::move(next_));
  world_.use(sets_);
}

void ChangedRules::read_board(Instant now) {
  RuleBoard::Hold hold(world_.board);
  const auto version = hold.read();
  if (version) follow(*version, now);
}

// REQUIRES: the version is of this generation
void ChangedRules::follow(const RuleBoard::Version& version, Instant now) {
  if (version.rules.empty() || version.number == book_.view()->version) return;
  try {
    book_.take_over(config_sources(version.rules).rules, version.number, {}, now);
  } catch (const RuleRefusal& refusal) {
    world_.say("a worker cannot follow a change of the rules: " + refusal.detail);
  }
}

void ChangedRules::change(RuleChange change, Done done, Instant now) {
  RuleReply reply;
  try {
    reply = make(change, now);
  } catch (const std::exception& error) {
    reply = refusal(kNotNow, error.what());
  }
  done(std::move(reply));
}

RuleReply ChangedRules::make(const RuleChange& change, Instant now) {
  if (change.keep == RuleChange::Keep::kInFile) {
    return refusal(kConflict,
                   "nginx's workers do not write the file that weir_config names: change it there, "
                   "and reload nginx");
  }
  RuleBoard::Hold hold(world_.board);
  const auto version = hold.read();
  if (!version) return refusal(kNotNow, "nginx has been reloaded: ask again, on a new connection.");
  follow(*version, now);
  auto before = sources_in(*view());
  auto reply = book_.change(change, now);
  if (is_refusal(reply.outcome)) return reply;
  if (!hold.write(config_text({.rules = sources_in(*view())}))) {
    book_.take_over(std::move(before), version->number, {}, now);
    return refusal(kConflict, "weir_zone has no room for rules of this length; make it larger.");
  }
  for (const std::string& line : reply.changes) {
    world_.say("by request: " + line + ", by " + describe(change.author) +
               reason_of(change.author));
  }
  for (const std::string& sentence : reply.warnings) {
    world_.say("by request: " + change.id + ": " + std::string(kWarningMark) + sentence);
  }
  return reply;
}

void ChangedRules::judge(RuleTrial, Judged done, Instant) {
  done({.outcome = kConflict, .detail = "nginx does not judge rules here: use nginx -t"});
}

RuleReply ChangedRules::refusal(ChangeOutcome outcome, std::string detail) const {
  return {.outcome = outcome, .detail = std::move(detail), .version = view()->version};
}

}  // namespace weir::nginx
