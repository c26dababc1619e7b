// RuleDesk: where requests see and change the rules of the node.
//
// It keeps the rules as they were written, in JSON. Each change gives the whole set a new version,
// and goes into a history. A change is checked with all other rules, as a file would be, before it
// is in force anywhere.
//
// Reading YAML, compiling expressions and writing files take long, so no core does it: one
// thread makes all changes, one after the other, and cores hear from it.
//
// Thread rule: any thread. Implemented by cli/node/rule_changer.h and nginx/changed_rules.h. Tested
// by http_rules_test.cc and tests/e2e/rules_test.py.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/rules/rule_sources.h"
#include "observe/rule_hold.h"
#include "rulebook/dry_run.h"
#include "rulebook/rule_author.h"
#include "rules/rollout.h"
#include "weir/time.h"

namespace weir {

enum class RuleOrigin : std::uint8_t {
  kFile,
  kRequest,  // added or changed by request, and not in the file as it is now
  kEnvoy,    // from the files of Envoy's service: only there can it be changed
};

struct RuleView {
  std::string id;
  std::string json;  // empty of kEnvoy
  RuleOrigin origin = RuleOrigin::kFile;
  std::optional<Rollout> rollout{};
};

struct RulesView {
  std::uint64_t version = 0;
  std::vector<RuleView> rules;       // in the order in which they apply
  std::vector<std::string> removed;  // by request; a reload brings them back
};

struct RuleChange {
  enum class Kind : std::uint8_t { kPut, kPatch, kRemove, kGoBack };
  enum class Keep : std::uint8_t { kUntilReload, kInFile };

  Kind kind = Kind::kPut;
  std::string id;
  // For kPut: the rule, as YAML or JSON. For kPatch: the fields that change, as a JSON object
  // (RFC 7396): null drops a field, and a section is changed field by field.
  std::string text{};
  std::uint64_t back_to = 0;  // of kGoBack, which has no id: a version in the history
  std::optional<std::uint64_t> if_version{};
  bool if_new = false;  // only if there is no rule of this id
  Keep keep = Keep::kUntilReload;
  RuleAuthor author{};
};

enum class ChangeOutcome : std::uint8_t {
  kDone,
  kAdded,      // done: the rule is a new one
  kMalformed,  // the text is no rule
  kUnknown,    // there is no rule of this id, or no such version
  kConflict,   // not with the other rules, or not in the file
  kOutdated,   // the rules are at another version, or the rule is not new
  kNotNow,
};
constexpr bool is_refusal(ChangeOutcome outcome) { return outcome > ChangeOutcome::kAdded; }

// Why a change is not made, and sentences about it.
struct RuleRefusal {
  ChangeOutcome outcome;
  std::string detail;
};

struct RuleReply {
  ChangeOutcome outcome = ChangeOutcome::kDone;
  std::string detail{};  // of a refusal: sentences
  std::uint64_t version = 0;
  std::vector<std::string> changes{};   // that were made, a line each
  std::vector<std::string> warnings{};  // of a rule that was put or patched: sentences
  std::optional<RuleHold> hold{};       // of a change that was made in a fleet
};

// A rule, or all of a file, that somebody is still writing.
struct RuleTrial {
  std::string id;    // of the rule; empty: a file
  std::string text;  // as YAML or JSON
  // So much of the past is decided again; zero: nothing is.
  Duration over{0};
  std::size_t precise_keys = 0;  // of the node that decided it
};

// A mistake in it, or something suspicious.
struct RuleFinding {
  enum class Weight : std::uint8_t { kMistake, kWarning };

  std::size_t line = 1;    // from 1
  std::size_t column = 1;  // from 1, in bytes
  std::string text;
  Weight weight = Weight::kMistake;
};

struct RuleVerdict {
  ChangeOutcome outcome = ChangeOutcome::kDone;  // or a refusal to judge: not here, or not now
  std::string detail{};                          // of a refusal
  std::vector<RuleFinding> findings{};
  std::vector<std::string> changes{};  // what it would change, a line each
  std::string json{};                  // of a rule without mistakes
  std::vector<DryRun> dry_runs{};      // of the rule, or those of a file that are others

  bool is_ok() const {
    const auto is_mistake = [](const RuleFinding& finding) {
      return finding.weight == RuleFinding::Weight::kMistake;
    };
    return std::ranges::none_of(findings, is_mistake);
  }
};

// One change that was made.
struct RuleVersion {
  std::uint64_t version = 0;
  Instant when{};
  RuleOrigin origin = RuleOrigin::kFile;  // or kRequest
  RuleAuthor author{};                    // of a request
  std::vector<std::string> changes{};     // a line each, for people; none of the first version
  std::vector<RuleSource> rules{};        // all of then, but those of Envoy's files
};

// The oldest first. A reload of the same rules makes no version.
using RuleHistory = std::vector<std::shared_ptr<const RuleVersion>>;

class RuleDesk {
 public:
  // Must not throw, nor keep the thread for long: other changes wait for it.
  using Done = std::function<void(RuleReply)>;

  virtual ~RuleDesk() = default;

  // As of the last change that was made. These wait for no change that is under way.
  virtual std::shared_ptr<const RulesView> view() const = 0;
  virtual RuleHistory history() const = 0;
  // On which nodes the rules hold that requests have changed. Nothing if the node is alone.
  virtual std::optional<RuleHold> hold() const { return std::nullopt; }

  // Calls `done` once: on the thread that makes the changes, when this one has been made or
  // refused; but at once, here, if it cannot even wait for its turn. By then every core has the
  // new rules, unless one has been busy for a second.
  virtual void change(RuleChange change, Done done, Instant now) = 0;

  // The same, but changes nothing: what would become of it now. One dry run at a time.
  using Judged = std::function<void(RuleVerdict)>;
  virtual void judge(RuleTrial trial, Judged done, Instant now) = 0;
};

}  // namespace weir
