// ChangedRules: the rules of one worker, as its admin pages see and change them, and as other
// workers of the same nginx have changed them.
//
//   a request of this worker ──> Rulebook ──> RuleBoard ──> the others' catch_up() ──> Rulebook
//
// A change by request holds until nginx is reloaded. Weir does not write the file, since workers
// usually may not. A rule that the file lacks has no figures of its own.
//
// Thread rule: the worker's only thread. Tested by changed_rules_test.cc and
// tests/nginx/admin_test.py.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nginx/gateway.h"
#include "nginx/zone/rule_board.h"
#include "rulebook/rule_desk.h"
#include "rulebook/rulebook.h"
#include "rules/rule_set.h"
#include "weir/time.h"

namespace weir::nginx {

class ChangedRules final : public RuleDesk {
 public:
  // By number, as Gateway::sets(). Must not throw.
  using Use = std::function<void(const std::vector<RuleSetPtr>& sets)>;
  using Say = std::function<void(const std::string& line)>;

  // All must outlive this. From then on `use` makes decisions follow the rules.
  struct World {
    const Gateway& gateway;
    const RuleIds& ids;
    RuleBoard& board;
    Use use;
    Say say;
  };
  ChangedRules(World world, Instant now);

  // Takes up other workers' changes. Costs one load if there are none.
  void catch_up(Instant now) {
    if (world_.board.has_news()) read_board(now);
  }

  std::shared_ptr<const RulesView> view() const override { return book_.view(); }
  RuleHistory history() const override { return book_.history(); }
  void change(RuleChange change, Done done, Instant now) override;
  void judge(RuleTrial trial, Judged done, Instant now) override;

 private:
  RuleSetPtr compile(std::vector<Rule> rules);
  void put_to_use() noexcept;
  void read_board(Instant now);
  void follow(const RuleBoard::Version& version, Instant now);
  RuleReply make(const RuleChange& change, Instant now);
  RuleReply refusal(ChangeOutcome outcome, std::string detail) const;

  const World world_;
  std::vector<RuleSetPtr> sets_;    // in force
  std::vector<RuleSetPtr> next_;    // compiled last, and not in force yet
  std::vector<RuleSetPtr> former_;  // requests may still read them
  Rulebook book_;
};

}  // namespace weir::nginx
