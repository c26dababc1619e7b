#include "simulate/tenants.h"

#include <algorithm>
#include <utility>

namespace weir::sim {
namespace {

constexpr Duration kPatience = std::chrono::seconds(1);  // TenantKeeper::kOfferMax
constexpr Duration kTick = std::chrono::milliseconds(10);

}  // namespace

SimTenants::SimTenants(const HashSecret& secret, Engine& engine, Reactor& reactor,
                       Listener listener)
    : engine_(engine),
      listener_(std::move(listener)),
      steps_(reactor.make_alarm([this](Instant now) { go_on(now); })) {
  use(std::make_shared<const TenantTable>(secret));
}

void SimTenants::change(Rows rows) {
  waiting_.push_back({.rows = std::move(rows)});
  steps_->set(Instant{});
}

// Tries a change of one key again after another node has changed the table.
void SimTenants::go_on(Instant now) {
  using enum SharedTenants::Outcome;
  if (waiting_.empty()) return;
  steps_->set(now + kTick);
  if (!patience_end_) return offer(now);
  const bool is_over = now >= *patience_end_;
  const auto outcome = shared_.outcome(is_over ? SharedTenants::Patience::kIsOver
                                               : SharedTenants::Patience::kGoesOn);
  if (is_over) patience_end_ = now + kPatience;
  if (!outcome) return;
  patience_end_.reset();
  const Change& change = waiting_.front();
  if (*outcome == kTaken || *outcome == kAway) use(change.made.table);
  listener_.settled(change, *outcome);
  if (*outcome != kOutdated || change.rows.size() > 1) waiting_.pop_front();
}

// Offers once the node has read Redis's table.
void SimTenants::offer(Instant now) {
  Change& change = waiting_.front();
  TenantTable::Edits edits;
  for (const auto& [key, limit] : change.rows) {
    edits.rows.push_back({.key = table().hash(key), .limit = limit});
  }
  std::ranges::sort(edits.rows, std::less(), &TenantTable::Row::key);
  change.before = engine_.tenants;
  auto [table, changed] = change.before->edited(std::move(edits));
  change.made = {.head = {shared_.next_number(), table->digest()}, .table = std::move(table)};
  const auto refused = shared_.begin_offer({change.made, std::move(changed)});
  if (refused == SharedTenants::Outcome::kUnreadable) return waiting_.pop_front();
  if (refused) return;
  patience_end_ = now + kPatience;
  listener_.offered(change);
}

void SimTenants::follow() {
  const auto news = shared_.news();
  if (!news) return;
  auto table = table_of(*news, engine_.tenants);
  if (table != nullptr) use(table);
  shared_.take(news->head, std::move(table));
}

void SimTenants::use(TenantTablePtr table) {
  engine_.tenants = std::move(table);
  ++uses_;
}

}  // namespace weir::sim
