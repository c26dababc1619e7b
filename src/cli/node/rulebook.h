// Rulebook: the rules in force, as they were written, and every way to change them.
//
// A file brings them (load), and requests change one at a time (change). Either way the book
// makes the whole set anew and sends it to all cores. The next load drops the changes by
// request that are not in the file.
//
// Thread rule: rules(), view() and history() from any thread; the rest on one, which is that
// of a RuleChanger once there are others. Tested by rulebook_test.cc, rule_changer_test.cc,
// fuzz/rule_change_fuzz.cc and tests/e2e/rules_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/rules/rule_sources.h"
#include "rules/rule_set.h"
#include "server/http/admin/rule_desk.h"

namespace weir {

class Rulebook {
 public:
  using Compile = std::function<RuleSetPtr(std::vector<Rule>, RequestSources)>;
  using Apply = std::function<void(const RuleSetPtr&)>;  // sends it to all cores, in order

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
  };

  // Puts the rules of the configuration in force, those of Envoy's files among them.
  Loaded load(Config config, Instant now);

  // Makes the change, or says why not (rule_desk.h).
  RuleReply change(const RuleChange& change, Instant now);

  // Whether the file says something else than when it was last read or written.
  bool file_has_changed() const;

  // As of the last load or change that is complete.
  RuleSetPtr rules() const;
  std::shared_ptr<const RulesView> view() const;
  RuleHistory history() const;

 private:
  using Sources = std::vector<RuleSource>;

  // All that others see, of one version.
  struct Shown {
    RuleSetPtr rules;
    std::shared_ptr<const RulesView> view = std::make_shared<const RulesView>();
    RuleHistory history;
  };
  Shown shown() const;

  // All rules as a change wants them, and what of that goes into the file.
  struct Draft {
    Sources rules;
    RuleEdit edit{};
    int status = 200;
  };
  // Each throws a Refusal, which change() makes a reply.
  Draft draft_of(const RuleChange& change) const;
  Draft former_rules(const RuleChange& change) const;
  RuleSource wanted_rule(const RuleChange& change) const;
  RuleSource read_rule(const RuleChange& change) const;
  std::vector<Rule> checked(const Sources& draft) const;
  void write_back(const RuleEdit& edit);

  std::vector<std::string> put_in_force(Sources sources, RuleSetPtr rules, RuleOrigin by,
                                        Instant now);
  RulesView make_view(const Sources& sources, std::uint64_t version) const;
  void retire(const RuleSetPtr& rules);

  const std::string file_;
  const Compile compile_;
  const Apply apply_;

  std::string text_;  // of the file
  ConfigSources in_file_;
  Sources in_force_;
  std::vector<Rule> envoy_;
  RequestSources sources_;
  RuleSetPtr rules_;
  std::uint64_t version_ = 0;
  std::vector<RuleSetPtr> retired_;  // perhaps still in use on a core

  mutable std::mutex mutex_;  // guards shown_: held to copy pointers, never for a change
  Shown shown_;
};

}  // namespace weir
