#include "rulebook/rulebook.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include "base/joined.h"
#include "config/config.h"
#include "config/config_warnings.h"
#include "rulebook/replace_file.h"
#include "rulebook/rule_probe.h"
#include "rulebook/rule_replacement.h"
#include "rulebook/rule_text.h"
#include "rulebook/rules_by_hand.h"
#include "rulebook/tried_rules.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

using Kind = RuleChange::Kind;
using Refusal = RuleRefusal;
using enum ChangeOutcome;
using enum RuleAuthors;

constexpr std::size_t kMistakesMax = 10;  // in one reply

template <typename Sources>
auto find_rule(Sources& sources, std::string_view id) {
  return std::ranges::find(sources, id, &RuleSource::id);
}

std::size_t bytes_of(const RuleVersion& version) {
  std::size_t bytes = 0;
  for (const auto& rule : version.rules) bytes += rule.id.size() + rule.json.size();
  return bytes;
}

// Adds a version, and forgets the oldest ones if they are too many or too long.
void remember(RuleHistory& history, RuleVersion version) {
  history.push_back(std::make_shared<const RuleVersion>(std::move(version)));
  auto first = history.end();
  std::size_t bytes = 0;
  while (first != history.begin() &&
         static_cast<std::size_t>(history.end() - first) < Rulebook::kHistoryMax) {
    bytes += bytes_of(**(first - 1));
    if (first != history.end() && bytes > Rulebook::kHistoryBytesMax) break;
    --first;
  }
  history.erase(history.begin(), first);
}

// A line each.
template <typename Describe>
std::string first_of(const ConfigErrors& errors, Describe describe) {
  return joined(errors | std::views::take(kMistakesMax), "\n", describe);
}

// Where warnings stand alone, nothing has to mark them.
std::string sentence_of(const ConfigError& error) {
  const bool is_marked = error.message.starts_with(kWarningMark);
  return error.message.substr(is_marked ? kWarningMark.size() : 0);
}

// The mistake, at its place in the text that somebody wrote.
void add_findings(const ConfigErrors& errors, RuleFinding::Weight weight, RuleVerdict& verdict) {
  for (const auto& error : errors) {
    verdict.findings.push_back({.line = std::max<std::size_t>(error.line, 1),
                                .column = std::max<std::size_t>(error.column, 1),
                                .text = sentence_of(error),
                                .weight = weight});
  }
}

// Line i + 2 is that of rule i.
std::string describe_conflicts(const ConfigErrors& errors, const std::vector<RuleSource>& draft) {
  return first_of(errors, [&](const ConfigError& error) {
    const auto rule = error.line - 2;
    return rule < draft.size() ? "rule '" + draft[rule].id + "': " + error.message : error.message;
  });
}

// The rules that requests have changed, and that the file has otherwise or not at all.
std::vector<std::string> unwritten(const RulesView& view) {
  auto ids = view.removed;
  for (const auto& rule : view.rules) {
    if (rule.origin == RuleOrigin::kRequest) ids.push_back(rule.id);
  }
  return ids;
}

// A rule by itself. `others`: the rest of the file.
RuleSource read_rule(const std::string& others, ServedBy served_by, const RuleChange& change) {
  const RuleProbe probe(others, change.text);
  const auto parsed = parse_config(probe.text(), "rule", served_by);
  if (!parsed) {
    const auto mistakes = change.kind == Kind::kPatch ? probe.by_field(parsed.error())
                                                      : probe.as_written(parsed.error());
    throw Refusal{kMalformed, first_of(mistakes, std::mem_fn(&ConfigError::to_string))};
  }
  auto read = config_sources(probe.text());
  if (read.rules.size() != 1 || read.others != others) {
    throw Refusal{kMalformed, "The body must be one rule."};
  }
  if (read.rules.front().id != change.id) {
    throw Refusal{kMalformed, "The rule's id must be the one in the path, '" + change.id + "'."};
  }
  return std::move(read.rules.front());
}

// What others see of a version.
std::shared_ptr<const RulesView> make_view(const std::vector<RuleSource>& in_force,
                                           const std::vector<RuleSource>& in_file,
                                           const std::vector<Rule>& envoy,
                                           const std::map<std::string, Rollout>& rollouts,
                                           std::uint64_t version) {
  auto view = RulesView{.version = version};
  auto written = texts_by_id(in_file);
  const auto known = texts_by_id(in_force);
  for (const auto& rule : in_force) {
    auto& shown = view.rules.emplace_back(RuleView{.id = rule.id, .json = rule.json});
    if (written[rule.id] != rule.json) shown.origin = RuleOrigin::kRequest;
    if (const auto at = rollouts.find(rule.id); at != rollouts.end()) shown.rollout = at->second;
  }
  for (const auto& rule : envoy) {
    view.rules.push_back({.id = rule.id, .json = {}, .origin = RuleOrigin::kEnvoy});
  }
  for (const auto& rule : in_file) {
    if (!known.contains(rule.id)) view.removed.push_back(rule.id);
  }
  return std::make_shared<const RulesView>(std::move(view));
}

}  // namespace

Rulebook::Loaded Rulebook::load(Config config, Instant now) {
  auto in_file = config_sources(config.text);
  return load(std::move(config), std::move(in_file), {}, now);
}

Rulebook::Loaded Rulebook::load(Config config, ConfigSources in_file, std::string_view by_hand,
                                Instant now) {
  auto loaded = Loaded{.changes = {}, .lost = unwritten(*state_.view)};
  auto next = state_;
  next.text = std::move(config.text);
  next.served_by = config.served_by;
  next.in_file = std::move(in_file);
  next.in_force = next.in_file.rules;
  next.by_hand = {.files = RuleFiles::of(next.in_file.rules)};
  next.rollouts = std::move(config.rollouts);
  const auto own = texts_by_id(next.in_file.rules);
  auto envoy = std::vector<Rule>();
  std::ranges::copy_if(config.rules, std::back_inserter(envoy),
                       [&](const Rule& rule) { return !own.contains(rule.id); });
  next.envoy = std::make_shared<const std::vector<Rule>>(std::move(envoy));
  next.sources = config.sources;
  std::optional<RuleSet> written;  // the file's rules, where others are in force
  if (!by_hand.empty()) {
    try {
      auto read = rules_in(next, by_hand);
      auto together = checked(next, {.rules = read.rules});
      next.by_hand = std::move(read.changes);
      if (read.rules != next.in_file.rules) written.emplace(config.rules, next.sources);
      config.rules = std::move(together.rules);
      next.rollouts = std::move(together.rollouts);
      next.in_force = std::move(read.rules);
      loaded.lost.clear();
    } catch (const Refusal& refusal) {
      loaded.refusal = refusal.detail;
    }
  }
  next.rules = compile_(std::move(config.rules), std::move(config.sources));
  if (written) {
    loaded.kept = describe_changes({.rules = *written, .sources = next.in_file.rules},
                                   {.rules = *next.rules, .sources = next.in_force});
  }
  loaded.changes = finish(next, RuleOrigin::kFile, now);
  loaded.is_same = next.version == state_.version;
  std::erase_if(loaded.lost, [&](const std::string& id) {  // the file says the same meanwhile
    return std::ranges::none_of(loaded.changes, [&](const auto& it) { return is_about(it, id); });
  });
  put_in_force(std::move(next));
  return loaded;
}

std::vector<std::string> Rulebook::take_over(std::vector<RuleSource> rules, std::uint64_t version,
                                             RuleAuthor author, Instant now) {
  auto next = state_;
  next.version = version - 1;
  auto together = checked(state_, {.rules = rules});
  next.rules = compile_(std::move(together.rules), next.sources);
  next.rollouts = std::move(together.rollouts);
  next.in_force = std::move(rules);
  auto changes = finish(next, RuleOrigin::kRequest, now, std::move(author));
  put_in_force(std::move(next));
  return changes;
}

std::vector<std::string> Rulebook::follow(std::string_view by_hand, RuleAuthors authors,
                                          Instant now) {
  auto read = rules_in(state_, by_hand);
  auto& last = read.changes.author;
  if (last.who.empty()) last.who = "a node of the fleet";
  RuleAuthor told = last;
  if (authors == kSeveral && read.changes.authors == kSeveral) {
    told = {.who = "several, the last " + describe(told)};
  }
  auto changes = take_over(std::move(read.rules), state_.version + 1, std::move(told), now);
  state_.by_hand = std::move(read.changes);
  return changes;
}

RulesByHand Rulebook::rules_in(const State& base, std::string_view by_hand) {
  auto read = rules_by_hand_in(by_hand);
  if (!read) throw Refusal{kMalformed, "it cannot read them"};
  const Sources& in_file = base.in_file.rules;
  const std::uint64_t own = hash_of(in_file);
  const bool is_written = own == read->all;  // somebody has written all of them into this file
  auto& files = read->changes.files;
  if (!is_written && std::ranges::count(files.hashes, own) == 0) {
    throw Refusal{kConflict, "its file has other rules than the file they were made on"};
  }
  if (is_written) files.alike.clear();  // only rules without a text stay so
  for (auto& rule : read->rules) {
    const bool has_no_text = rule.json.empty();
    if (!has_no_text && !is_written) {  // else the file has the same text
      rule = read_rule(base.in_file.others, base.served_by, {.id = rule.id, .text = rule.json});
      continue;
    }
    const auto written = find_rule(in_file, rule.id);
    if (written == in_file.end()) throw Refusal{kMalformed, "it cannot read them"};
    rule = *written;
    if (has_no_text) files.alike.insert(rule.id);
  }
  files.add(own);
  return *std::move(read);
}

// Adds what follows from the rules of `next`, and returns what is different from before. All that
// may want memory is done here, so that put_in_force() wants none.
std::vector<std::string> Rulebook::finish(State& next, RuleOrigin origin, Instant now,
                                          RuleAuthor author) {
  auto changes = std::vector<std::string>();
  if (state_.rules != nullptr) {
    changes = describe_changes({.rules = *state_.rules, .sources = state_.in_force},
                               {.rules = *next.rules, .sources = next.in_force});
  }
  // A file that says the same again makes no version, so that `If-Match` still fits.
  const bool is_same = origin == RuleOrigin::kFile && state_.rules != nullptr && changes.empty() &&
                       next.in_force == state_.in_force &&
                       next.in_file.rules == state_.in_file.rules;
  if (!is_same) ++next.version;
  next.view =
      make_view(next.in_force, next.in_file.rules, *next.envoy, next.rollouts, next.version);
  if (!is_same) {
    remember(next.history, {.version = next.version,
                            .when = now,
                            .origin = origin,
                            .author = std::move(author),
                            .changes = changes,
                            .rules = next.in_force});
  }
  std::erase_if(retired_, [](const RuleSetPtr& old) { return old.use_count() == 1; });
  retired_.reserve(retired_.size() + 1);
  return changes;
}

// The last owner of a set destroys thousands of expressions. A core that swaps sets must not
// be the one, so the book keeps each set until all cores have let go of it.
void Rulebook::put_in_force(State next) noexcept {
  if (state_.rules != nullptr) retired_.push_back(state_.rules);  // finish() made room
  {
    const std::scoped_lock lock(mutex_);
    std::swap(state_, next);
  }
  apply_();
}

RuleSetPtr Rulebook::rules() const {
  const std::scoped_lock lock(mutex_);
  return state_.rules;
}

std::shared_ptr<const RulesView> Rulebook::view() const {
  const std::scoped_lock lock(mutex_);
  return state_.view;
}

RuleHistory Rulebook::history() const {
  const std::scoped_lock lock(mutex_);
  return state_.history;
}

bool Rulebook::file_has_changed() const {
  const auto text = read_config_file(file_);
  return !text || *text != state_.text;
}

RuleSource Rulebook::wanted_rule(const RuleChange& change) const {
  if (std::ranges::count(*state_.envoy, change.id, &Rule::id) > 0) {
    throw Refusal{kConflict, "This rule is from a file of Envoy's service; change it there."};
  }
  const auto known = find_rule(state_.in_force, change.id);
  if (change.kind == Kind::kPut) return read_rule(state_.in_file.others, state_.served_by, change);
  if (known == state_.in_force.end()) throw Refusal{kUnknown, "There is no rule of this id."};
  if (change.kind == Kind::kRemove) return *known;
  const RuleChange whole{change.kind, change.id, patched(known->json, change.text)};
  return read_rule(state_.in_file.others, state_.served_by, whole);
}

// All rules together.
Rulebook::Checked Rulebook::checked(const State& base, const Draft& draft) {
  auto parsed = parse_config(config_text({.others = base.in_file.others, .rules = draft.rules}),
                             "rules", base.served_by);
  if (!parsed) throw Refusal{kConflict, describe_conflicts(parsed.error(), draft.rules)};
  auto& config = *parsed;
  auto checked = Checked{.rules = {},
                         .rollouts = std::move(config.rollouts),
                         .warnings = warnings_about(draft, config)};
  checked.rules = std::move(config.rules);
  const auto ids = texts_by_id(draft.rules);
  for (const auto& rule : *base.envoy) {
    if (ids.contains(rule.id)) {
      throw Refusal{kConflict,
                    "There is a rule '" + rule.id + "' in a file of Envoy's service, too."};
    }
    checked.rules.push_back(rule);
  }
  if (auto conflict = descriptor_conflict(checked.rules))
    throw Refusal{kConflict, *std::move(conflict)};
  return checked;
}

// `config` is the draft as it was read, where the rule gets its places.
ConfigErrors Rulebook::warnings_about(const Draft& draft, Config& config) {
  const auto rule = std::ranges::find(config.rules, draft.edit.id, &Rule::id);
  if (!draft.edit.json || rule == config.rules.end()) return {};
  const auto index = static_cast<std::size_t>(rule - config.rules.begin());
  if (draft.places) config.rule_places[index] = *draft.places;
  return rule_warnings(config, index);
}

void Rulebook::edit_file_in(State& next, const RuleEdit& edit) const {
  if (file_.empty()) throw Refusal{kConflict, "there is no configuration file"};
  const auto text = read_config_file(file_);
  if (!text) throw Refusal{kConflict, text.error().front().to_string()};
  if (*text != state_.text) {
    throw Refusal{kConflict, file_ + " has changed since it was read; reload it first"};
  }
  auto edited = edit_rule(state_.text, edit);
  if (!edited) {
    throw Refusal{kConflict,
                  file_ + " was not written: " + edited.error().message + "; edit it there"};
  }
  next.text = *std::move(edited);
  next.in_file = config_sources(next.text);
}

// Weir edits files a rule at a time: the order of rules might get lost if it wrote all at once.
Rulebook::Draft Rulebook::former_rules(const RuleChange& change) const {
  if (change.keep == RuleChange::Keep::kInFile) {
    throw Refusal{kConflict, "Going back is not written to the file; change its rules one by one."};
  }
  const auto all = history();
  const auto found = std::ranges::find(all, change.back_to, &RuleVersion::version);
  if (found == all.end()) throw Refusal{kUnknown, "This version is not in the history."};
  return {.rules = (*found)->rules};
}

Rulebook::Draft Rulebook::draft_of(const RuleChange& change) const {
  if (change.kind == Kind::kGoBack) return former_rules(change);
  const auto rule = wanted_rule(change);
  auto draft = Draft{.rules = state_.in_force, .edit = {.id = rule.id, .json = rule.json}};
  const auto place = find_rule(draft.rules, rule.id);
  if (change.kind == Kind::kRemove) {
    draft.rules.erase(place);
    draft.edit.json.reset();
    return draft;
  }
  if (place == draft.rules.end()) {
    draft.rules.push_back(rule);
    draft.outcome = kAdded;
    return draft;
  }
  if (change.kind == Kind::kPut) draft.warnings = replacement_warnings(*place, rule);
  *place = rule;
  return draft;
}

// The differences from the rules in force.
std::vector<std::string> Rulebook::changes_by(const Sources& rules,
                                              std::vector<Rule> parsed) const {
  return describe_changes({.rules = *state_.rules, .sources = state_.in_force},
                          {.rules = RuleSet(std::move(parsed), state_.sources), .sources = rules});
}

std::optional<TriedRules> Rulebook::judge_rule(const RuleTrial& trial, RuleVerdict& verdict) const {
  const RuleProbe probe(state_.in_file.others, trial.text);
  const auto parsed = parse_config(probe.text(), "rule", state_.served_by);
  if (!parsed) {
    add_findings(probe.as_written(parsed.error()), RuleFinding::Weight::kMistake, verdict);
    return std::nullopt;
  }
  auto draft = draft_of({.kind = Kind::kPut, .id = trial.id, .text = trial.text});
  draft.places = parsed->rule_places.front();
  auto together = checked(state_, draft);
  for (auto& warning : draft.warnings) {
    together.warnings.push_back({.file = {}, .message = std::move(warning)});
  }
  add_findings(probe.as_written(std::move(together.warnings)), RuleFinding::Weight::kWarning,
               verdict);
  add_findings(probe.as_written(spelling_notes(*parsed, "rule")), RuleFinding::Weight::kWarning,
               verdict);
  verdict.json = *draft.edit.json;
  return TriedRules{std::move(draft.rules), std::move(together.rules)};
}

// Files that the file names are not read.
std::optional<TriedRules> Rulebook::judge_file(const RuleTrial& trial, RuleVerdict& verdict) const {
  auto parsed = parse_config(trial.text, "file", state_.served_by);
  if (!parsed) {
    add_findings(parsed.error(), RuleFinding::Weight::kMistake, verdict);
    return std::nullopt;
  }
  auto& config = *parsed;
  add_findings(config_warnings(config, "file"), RuleFinding::Weight::kWarning, verdict);
  add_findings(spelling_notes(config, "file"), RuleFinding::Weight::kWarning, verdict);
  auto rules = std::move(config.rules);
  rules.insert(rules.end(), state_.envoy->begin(), state_.envoy->end());
  if (auto conflict = descriptor_conflict(rules)) throw Refusal{kConflict, *std::move(conflict)};
  return TriedRules{config_sources(trial.text).rules, std::move(rules)};
}

RuleVerdict Rulebook::judge(const RuleTrial& trial, const RecentAsks* memory, Instant now) const {
  auto verdict = RuleVerdict();
  try {
    auto tried = trial.id.empty() ? judge_file(trial, verdict) : judge_rule(trial, verdict);
    if (!tried) return verdict;
    if (trial.over > Duration{0}) {
      const RulesBefore before{*state_.rules, state_.in_force, state_.history};
      verdict.dry_runs = dry_runs_of(*tried, before, trial, memory, now);
    }
    verdict.changes = changes_by(tried->sources, std::move(tried->rules));
  } catch (const Refusal& refusal) {
    verdict.findings.push_back({.text = refusal.detail});
  }
  return verdict;
}

// The history always is.
bool Rulebook::is_there(const RuleChange& change) const {
  return change.kind == Kind::kGoBack ||
         std::ranges::count(state_.view->rules, change.id, &RuleView::id) > 0;
}

RuleReply Rulebook::change(const RuleChange& change, const Agree& agree, Instant now) try {
  if (change.if_version.value_or(state_.version) != state_.version) {
    throw Refusal{kOutdated,
                  "The rules are at another version: " + std::to_string(state_.version) + "."};
  }
  if (change.if_new && is_there(change)) {
    throw Refusal{kOutdated, "There is one already, so it cannot be new."};
  }
  auto draft = draft_of(change);
  auto together = checked(state_, draft);
  for (const auto& warning : together.warnings) draft.warnings.push_back(sentence_of(warning));
  auto next = state_;
  next.rules = compile_(std::move(together.rules), next.sources);
  next.rollouts = std::move(together.rollouts);
  next.in_force = std::move(draft.rules);
  const bool keeps = change.keep == RuleChange::Keep::kInFile;
  if (keeps) {
    edit_file_in(next, draft.edit);
    next.by_hand.files.add(state_.in_file.rules, next.in_file.rules, draft.edit.id);
  }
  auto changes = finish(next, RuleOrigin::kRequest, now, change.author);
  const bool is_first = state_.in_force == state_.in_file.rules;
  const bool is_same =
      state_.by_hand.authors == kOne && state_.by_hand.author.is_one_with(change.author);
  next.by_hand.authors = is_first || is_same ? kOne : kSeveral;
  next.by_hand.author = change.author;
  if (agree) agree(to_bytes(next.by_hand, next.in_file.rules, next.in_force));
  if (keeps) {
    if (auto fault = replace_file(file_, next.text, kAsBefore)) {
      throw Refusal{kConflict, std::move(fault->message)};
    }
  }
  put_in_force(std::move(next));
  return {.outcome = draft.outcome,
          .detail = {},
          .version = state_.version,
          .changes = std::move(changes),
          .warnings = std::move(draft.warnings)};
} catch (const Refusal& refusal) {
  return {.outcome = refusal.outcome, .detail = refusal.detail, .version = state_.version};
}

}  // namespace weir
