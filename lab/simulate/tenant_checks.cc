// Promises about the table of tenants. Each table that a node has in force was made by some node,
// as a whole; and at the end all nodes have the same table.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulate/judging.h"
#include "simulate/promises.h"

namespace weir::sim {
namespace {

// Nodes agree on one table of tenants, which is in force as a whole or not at all, and answers
// follow its rows.
class TenantsAgree final : public Check {
 public:
  explicit TenantsAgree(World& world) : Check(world), seen_(world.nodes()) {}
  std::string_view promise() const override { return "tenants agree"; }

  void offered(std::size_t, const SimTenants::Change& change) override {
    SimTenants::Rows rows = made_[change.before->digest()];
    for (const auto& [key, limit] : change.rows) {
      if (limit == SimTenants::kGone) {
        rows.erase(key);
      } else {
        rows[key] = limit;
      }
    }
    made_[change.made.head.digest] = std::move(rows);
  }
  // Compare and set: of two changes of one version Redis takes one.
  void settled(std::size_t node, const SimTenants::Change& change,
               SharedTenants::Outcome outcome) override {
    if (outcome == SharedTenants::Outcome::kAway) may_repeat_ = true;
    if (outcome != SharedTenants::Outcome::kTaken) return;
    const auto& head = change.made.head;
    const auto [known, is_new] = taken_.try_emplace(head.number, head.digest);
    if (may_repeat_ || is_new || known->second == head.digest) return;
    fail("node " + std::to_string(node) + " has changed version " + std::to_string(head.number) +
         ", which another has made meanwhile");
  }
  void faulted(const Fault& fault) override {
    using enum Fault::Kind;
    may_repeat_ |= fault.kind == kRestart || fault.kind == kFailover || fault.kind == kEvict;
    may_lose_rows_ |= fault.kind == kEvict;
  }

  void asked(const Asked& asked) override {
    const Part& part = asked.parts.front();
    const SimTenants* const tenants = tenants_of(asked.node);
    if (tenants == nullptr || !world_.rules()[part.rule].has_tenants) return;
    asked_[asked.number] = {.uses = tenants->uses(), .limit = limit_of(asked.node, part)};
  }
  void answered(const Answered& answered) override {
    const auto found = asked_.extract(answered.asked.number);
    const Part& part = answered.asked.parts.front();
    const Answer& answer = answered.answers.front();
    const SimTenants* const tenants = tenants_of(answered.asked.node);
    if (found.empty() || tenants == nullptr || answered.is_unavailable || answer.is_alone) return;
    if (answer.cause != Answer::Cause::kCounted) return;
    const std::int64_t limit = answer.decision.limit;
    const bool is_travelling = tenants->uses() > found.mapped().uses + 1;
    if (is_travelling || limit == found.mapped().limit ||
        limit == limit_of(answered.asked.node, part)) {
      return;
    }
    fail(about(world_, part) + ": held to " + std::to_string(limit) + ", and its row says " +
         std::to_string(found.mapped().limit));
  }

  void look() override {
    for (std::size_t number = 0; number < world_.nodes(); ++number) {
      const SimTenants* const tenants = tenants_of(number);
      if (tenants == nullptr || seen_[number] == tenants->table().digest()) continue;
      const TenantTable& table = tenants->table();
      seen_[number] = table.digest();
      const SimTenants::Rows& rows = made_[table.digest()];
      const bool is_whole =
          table.size() == rows.size() && std::ranges::all_of(rows, [&](const auto& row) {
            const auto terms = table.find(row.first);
            return terms && terms->limit == row.second;
          });
      if (is_whole) continue;
      return fail("node " + std::to_string(number) + " has a table of " +
                  std::to_string(table.size()) + " rows that nobody has made");
    }
  }
  void end() override {
    if (!world_.is_whole_for(kBound) || world_.scenario().loss > 0) return;
    look();
    std::optional<SharedHead> first;
    std::string other;
    bool has_redis_one = false;
    for (std::size_t number = 0; number < world_.nodes(); ++number) {
      if (tenants_of(number) == nullptr || !world_.node(number)->is_sharing()) continue;
      const SharedTenants& shared = world_.node(number)->tenants()->shared();
      const auto head = shared.known();
      if (!first) first = head;
      has_redis_one |= shared.is_told();
      if (head == *first && shared.is_told()) continue;
      other = "node " + std::to_string(number) + " has version " + std::to_string(head.number) +
              " of the table, " + (shared.is_told() ? "another one" : "and Redis has not");
    }
    // If Redis lost the rows and no node has them, only a new table helps.
    if (!other.empty() && (has_redis_one || !may_lose_rows_)) fail(other);
  }

 private:
  struct Ask {
    std::uint64_t uses = 0;
    std::int64_t limit = 0;
  };
  // The longest wait of a link, and some beats.
  static constexpr Duration kBound = std::chrono::seconds(8);

  const SimTenants* tenants_of(std::size_t number) {
    SimNode* const node = world_.node(number);
    return node == nullptr ? nullptr : node->tenants();
  }
  std::int64_t limit_of(std::size_t node, const Part& part) {
    const auto terms = tenants_of(node)->table().find(world_.key_text(part.key));
    return terms ? terms->limit : world_.rules()[part.rule].quota.limit();
  }

  std::map<std::uint64_t, SimTenants::Rows> made_;  // by the digest
  std::map<std::uint64_t, std::uint64_t> taken_;    // digests, by the number
  std::map<std::uint64_t, Ask> asked_;
  std::vector<std::uint64_t> seen_;  // of each node, when last looked at
  bool may_repeat_ = false;          // Redis may have gone back to an earlier version
  bool may_lose_rows_ = false;
};

}  // namespace

void add_tenant_checks(World& world, Checks& checks) { add<TenantsAgree>(world, checks); }

}  // namespace weir::sim
