// Rulebook: the rules in force, as they were written, and every way to change them.
//
// A file brings them (load), and requests change one at a time (change). Either way the book
// makes the whole set again, and tells all cores. A load drops the changes by request that are not
// in the file, unless it is told to keep them.
//
// A load or a change is made as a whole or not at all: if it throws std::bad_alloc, nothing has
// changed, neither here nor in the file.
//
// Thread rule: rules(), view() and history() from any thread; the rest on one, which is that
// of a RuleChanger once there are others. Tested by rulebook_test.cc, fuzz/rule_change_fuzz.cc,
// tests/e2e/rules_test.py and, as two processes have it, src/nginx/changed_rules_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/rules/rule_sources.h"
#include "rulebook/rule_desk.h"
#include "rulebook/rules_by_hand.h"
#include "rulebook/tried_rules.h"
#include "rules/rule_set.h"

namespace weir {

class Rulebook {
 public:
  // May throw a RuleRefusal.
  using Compile = std::function<RuleSetPtr(std::vector<Rule>, RequestSources)>;
  // Hands all cores the other rules, and waits for them a while. Must not throw: the rules are in
  // force.
  using Apply = std::function<void()>;

  // Bounds of the history: versions, and bytes of their rules. The last version stays.
  static constexpr std::size_t kHistoryMax = 100;
  static constexpr std::size_t kHistoryBytesMax = 16 << 20;

  // `file`: where rules are written back; empty: nowhere.
  Rulebook(std::string file, Compile compile, Apply apply)
      : file_(std::move(file)), compile_(std::move(compile)), apply_(std::move(apply)) {}

  // The effects of a load.
  struct Loaded {
    std::vector<std::string> changes;  // a line each (rule_text.h); none of the first load
    std::vector<std::string> lost;     // ids of rules whose unwritten changes are gone
    std::vector<std::string> kept;     // lines: what `by_hand` has otherwise than the file
    std::string refusal{};             // why `by_hand` is not in force; empty: it is
    bool is_same = false;              // the rules are as they were, and keep their version
  };

  // Puts the rules of the configuration in force, those of Envoy's files among them.
  Loaded load(Config config, Instant now);
  // The same, of a text that was taken apart before. `by_hand` (rules_by_hand.h) stands in place
  // of the file's rules, if it is not empty and can be in force with the others.
  Loaded load(Config config, ConfigSources in_file, std::string_view by_hand, Instant now);

  // May throw a RuleRefusal: then the change is not made. Hears the rules with it, as bytes
  // (rules_by_hand.h).
  using Agree = std::function<void(std::string by_hand)>;
  // Makes the change, or says why not (rule_desk.h).
  RuleReply change(const RuleChange& change, const Agree& agree, Instant now);
  RuleReply change(const RuleChange& change, Instant now) { return this->change(change, {}, now); }

  // Puts rules in force that a Rulebook of another process has made, whose file is the same, and
  // returns what they change. Throws what `compile` does.
  std::vector<std::string> take_over(std::vector<RuleSource> rules, std::uint64_t version,
                                     RuleAuthor author, Instant now);
  // The same of rules that travelled (rules_by_hand.h): each is checked as one by request is.
  // Throws a RuleRefusal if they cannot be in force here. The bytes name who changed them last.
  // kSeveral: of versions that this node has not seen that may be one of several.
  std::vector<std::string> follow(std::string_view by_hand, RuleAuthors authors, Instant now);
  // The number of the version that the first load makes.
  void number_from(std::uint64_t version) { state_.version = version - 1; }

  // What would become of it. Changes nothing.
  // `memory`: of what rules were asked; null: there is none.
  RuleVerdict judge(const RuleTrial& trial, const RecentAsks* memory, Instant now) const;

  // Whether the file says something else than when it was last read or written.
  bool file_has_changed() const;

  // As of the last load or change that is complete.
  RuleSetPtr rules() const;
  std::shared_ptr<const RulesView> view() const;
  RuleHistory history() const;

 private:
  using Sources = std::vector<RuleSource>;
  using Rollouts = std::map<std::string, Rollout>;  // by the rule's id

  // One version of the rules, and what it is made of. Copied, changed and put in the place of
  // the old one.
  struct State {
    std::uint64_t version = 0;
    std::string text;       // of the file
    ConfigSources in_file;  // its rules
    ServedBy served_by = ServedBy::kServer;
    std::shared_ptr<const std::vector<Rule>> envoy = std::make_shared<std::vector<Rule>>();
    RequestSources sources;
    Sources in_force;
    Rollouts rollouts;
    RuleSetPtr rules;  // the same, compiled
    ChangesByHand by_hand;
    std::shared_ptr<const RulesView> view = std::make_shared<const RulesView>();
    RuleHistory history;
  };

  // All rules as a change wants them, and what of that goes into the file.
  struct Draft {
    Sources rules;
    RuleEdit edit{};
    ChangeOutcome outcome = ChangeOutcome::kDone;
    std::vector<std::string> warnings{};  // about what the change leaves out
    std::optional<RulePlaces> places{};   // in a text that somebody is writing; else nowhere
  };
  struct Checked {
    std::vector<Rule> rules;
    Rollouts rollouts{};
    ConfigErrors warnings{};  // about the rule that a draft puts
  };
  // Each throws a Refusal, which change() makes a reply.
  Draft draft_of(const RuleChange& change) const;
  Draft former_rules(const RuleChange& change) const;
  bool is_there(const RuleChange& change) const;
  RuleSource wanted_rule(const RuleChange& change) const;
  static RulesByHand rules_in(const State& base, std::string_view by_hand);
  std::vector<std::string> changes_by(const Sources& rules, std::vector<Rule> parsed) const;
  // All rules as the trial wants them; nothing if it has mistakes.
  std::optional<TriedRules> judge_rule(const RuleTrial& trial, RuleVerdict& verdict) const;
  std::optional<TriedRules> judge_file(const RuleTrial& trial, RuleVerdict& verdict) const;
  static Checked checked(const State& base, const Draft& draft);
  static ConfigErrors warnings_about(const Draft& draft, Config& config);
  void edit_file_in(State& next, const RuleEdit& edit) const;

  std::vector<std::string> finish(State& next, RuleOrigin origin, Instant now,
                                  RuleAuthor author = {});
  void put_in_force(State next) noexcept;

  const std::string file_;
  const Compile compile_;
  const Apply apply_;

  mutable std::mutex mutex_;  // for others: held to copy a pointer or to swap, never for a change
  State state_;
  std::vector<RuleSetPtr> retired_;  // perhaps still in use on a core
};

}  // namespace weir
