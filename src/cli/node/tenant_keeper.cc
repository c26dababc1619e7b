#include "cli/node/tenant_keeper.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/if_memory.h"
#include "base/packed.h"
#include "observe/denials.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

using Outcome = SharedTenants::Outcome;

constexpr SealedFile::Kind kFile{.name = "tenants",
                                 .mark = "weir tenants 2 ",
                                 .content = "tenants",
                                 .bytes_max = SharedTenants::kBytesMax};
constexpr int kAttemptsMax = 50;
// Each attempt of a load sends its rows to Redis again, and changes of rules wait meanwhile.
constexpr int kLoadAttemptsMax = 10;

constexpr std::string_view kOvertaken =
    "Somebody else has changed the table of tenants meanwhile, and nothing of this change is in "
    "force. Look at it, and ask again.";
constexpr std::string_view kUnreadable =
    "This node cannot read the table of tenants in Redis, and nothing of this change is in force. "
    "Load the whole table: PUT /admin/tenants, or weir tenants import.";
constexpr std::string_view kBusy =
    "Others load rows into the table of tenants, or change it all the time. Nothing of this change "
    "is in force: ask again.";
constexpr std::string_view kBehind =
    "This node has not read yet what another has changed in the table of tenants. Nothing of this "
    "change is in force: ask again. If that goes on, Redis may have lost rows that no node has; "
    "the log says so. Then load the whole table: PUT /admin/tenants, or weir tenants import.";

// The plans that exist: tiers of rules that use tenants.
std::vector<std::string> plans_in(const RuleSet& rules) {
  std::set<std::string> plans;
  for (const Rule& rule : rules.rules()) {
    if (!rule.has_tenants) continue;
    for (const auto& [name, limits] : rule.tiers) plans.insert(name);
  }
  return {plans.begin(), plans.end()};
}

}  // namespace

std::string to_bytes(const SharedTenants::Version& version) {
  PackedWriter out;
  const auto& secret = version.table->secret().bytes;
  out.number(version.head.number);
  out.text({reinterpret_cast<const char*>(secret.data()), secret.size()});
  out.number(version.since ? 1 : 0);
  if (version.since) out.number(version.since->number).hash(version.since->digest);
  for (std::size_t i = 0; i < TenantTable::kBuckets; ++i) {
    const auto bucket = static_cast<std::uint16_t>(i);
    if (!version.table->is_empty(bucket)) {
      out.number(bucket).text(version.table->bucket_bytes(bucket));
    }
  }
  return out.take();
}

std::optional<SharedTenants::Version> tenants_in(std::string_view bytes) {
  PackedReader in(bytes);
  const auto number = in.number(SharedTenants::kNumberMax);
  const std::string_view key = in.text(sizeof(HashSecret::bytes));
  HashSecret secret;
  in.require(key.size() == secret.bytes.size());
  std::optional<SharedHead> since;
  if (in.number(1) == 1) {
    const std::uint64_t base = in.number(SharedTenants::kNumberMax);
    since = SharedHead{base, in.hash()};
  }
  if (!in.is_right()) return std::nullopt;
  std::memcpy(secret.bytes.data(), key.data(), key.size());
  const TenantTable none(secret);
  TenantTable::Edits edits;
  while (in.has_more()) {
    const auto bucket = static_cast<std::uint16_t>(in.number(TenantTable::kBuckets - 1));
    const std::string_view rows = in.text(TenantTable::kBucketBytesMax);
    if (!in.is_right() || !none.read_bucket(bucket, rows, edits)) return std::nullopt;
  }
  const bool is_in_order = std::ranges::is_sorted(edits.rows, std::less(), &TenantTable::Row::key);
  auto table = is_in_order ? none.edited(std::move(edits)).table : nullptr;
  if (table == nullptr) return std::nullopt;
  return SharedTenants::Version{{number, table->digest()}, std::move(table), since};
}

TenantKeeper::TenantKeeper(World world, const HashSecret& secret)
    : world_(std::move(world)),
      version_{{}, std::make_shared<const TenantTable>(secret)},
      file_({}, kFile) {}

TenantKeeper::Version TenantKeeper::current() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

TenantView TenantKeeper::view() const {
  TenantView view;
  {
    const std::scoped_lock lock(mutex_);
    view = {.table = version_.table, .version = version_.head.number, .lost = lost_};
  }
  if (world_.fleet != nullptr) view.is_told = world_.fleet->is_told();
  return view;
}

// The old table is destroyed when all cores have the new one, and not on a core.
void TenantKeeper::use(Version version) {
  {
    const std::scoped_lock lock(mutex_);
    std::swap(version_, version);
  }
  world_.apply();
}

TenantReply TenantKeeper::refusal(ChangeOutcome outcome, std::string detail) const {
  return {.outcome = outcome,
          .detail = std::move(detail),
          .view = view(),
          .retry_after = outcome == ChangeOutcome::kNotNow ? kRetryAfter : Duration{0}};
}

void TenantKeeper::change(TenantChange change, Done done) {
  const auto job = std::make_shared<Job>(std::move(change), std::move(done));
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(job);
  }
  world_.changer.run(
      [this] {
        work_off();
        return RuleReply();
      },
      [this, job](const RuleReply& outcome) {
        if (!is_refusal(outcome.outcome)) return;
        {
          const std::scoped_lock lock(mutex_);
          if (std::erase(waiting_, job) == 0) return;  // it was made along with another
        }
        job->done(refusal(outcome.outcome, outcome.detail));
      });
}

// Makes the first waiting change, with those behind it that go with it.
void TenantKeeper::work_off() {
  Jobs jobs;
  {
    const std::scoped_lock lock(mutex_);
    while (!waiting_.empty() && (jobs.empty() || (jobs.back()->goes_with_others() &&
                                                  waiting_.front()->goes_with_others()))) {
      jobs.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  const bool has_memory = has_memory_for([&] { make(jobs); });
  for (const auto& job : jobs) {
    if (!has_memory && !job->reply) job->reply = refusal(ChangeOutcome::kNotNow, "Out of memory.");
    job->done(*std::move(job->reply));
  }
}

// Earlier changes by others are no conflict, even if this node has not heard of them.
void TenantKeeper::make(const Jobs& jobs) {
  const bool is_fussy = !jobs.empty() && !jobs.front()->goes_with_others();
  const bool is_between = is_fussy && jobs.front()->is_between();
  if (is_fussy && !is_between && world_.fleet != nullptr) world_.fleet->await_word(kOfferMax);
  const bool is_behind = !catch_up();
  for (const auto& job : jobs) {
    job->reply = is_behind ? refusal(ChangeOutcome::kNotNow, std::string(kBehind))
                           : read(job->change, job->wanted);
  }
  put_in_force(jobs);
}

std::unique_ptr<TenantReader> TenantKeeper::reader() const {
  return std::make_unique<TenantReader>(current().table, plans_in(*world_.rules()));
}

// Fills `wanted`; else the reply says why not, or that more parts have to come.
std::optional<TenantReply> TenantKeeper::read(const TenantChange& change, Wanted& wanted) {
  wanted.table = current().table;
  if (change.kind == TenantChange::Kind::kClear) return std::nullopt;  // edits_of() finds the rows
  if (change.kind == TenantChange::Kind::kRemove) {
    wanted.edits.rows = {{.key = wanted.table->hash(change.key), .limit = TenantTable::kGone}};
    return std::nullopt;
  }
  Load load;
  load.reader = reader();
  if (change.kind == TenantChange::Kind::kPut) {
    load.reader->read_one(change.key, change.text);
  } else {
    if (auto other = read_part(change, load)) return other;
    if (load.parts == load.of) load.reader->finish();
  }
  if (auto mistakes = load.reader->mistakes(); !mistakes.empty()) {
    mistakes.pop_back();
    return refusal(ChangeOutcome::kMalformed, std::move(mistakes));
  }
  if (change.kind == TenantChange::Kind::kReplace && load.reader->rows() == 0) {
    return refusal(ChangeOutcome::kMalformed, "it has no rows, and " + std::string(kHowToClear));
  }
  wanted.table = load.reader->table();
  wanted.edits = load.reader->take();
  return std::nullopt;
}

void TenantKeeper::keep_load(std::optional<Load> load) {
  load_end_.store(load ? load->last + kPartMax : Instant::max(), std::memory_order_relaxed);
  load_ = std::move(load);
}

// Reads the text, or adds a part of a load. nullopt: `load` is complete, or no good whatever comes.
std::optional<TenantReply> TenantKeeper::read_part(const TenantChange& change, Load& load) {
  const TenantChange::Part part = change.part.value_or(TenantChange::Part());
  const Instant now = world_.now();
  if (change.part) {
    const bool is_same = load_ && load_->name == part.load;
    if (is_same && part.number > 1 && (load_->kind != change.kind || load_->of != part.of)) {
      return refusal(ChangeOutcome::kConflict,
                     "The parts of a load have one method and one 'of'. Begin again, with part 1.");
    }
    if (load_ && !is_same && now - load_->last < kPartMax) {
      const Duration left = load_->last + kPartMax - now;
      auto reply = refusal(ChangeOutcome::kConflict,
                           fmt::format("Another load is under way on this node. If no part of it "
                                       "comes, it is forgotten in {} s.",
                                       whole_seconds(left)));
      reply.retry_after = left;
      return reply;
    }
    if (part.number > 1 && (!is_same || load_->parts + 1 != part.number)) {
      return refusal(ChangeOutcome::kConflict,
                     "The parts before this one are not on this node. Begin again, with part 1.");
    }
    if (is_same && part.number > 1) load = *std::move(load_);
    keep_load(std::nullopt);
  }
  load.name = part.load;
  load.parts = part.number;
  load.of = part.of;
  load.kind = change.kind;
  load.last = now;
  load.reader->read(change.text);
  const bool waits = part.number < part.of && !load.reader->is_hopeless();
  if (!waits) return std::nullopt;
  keep_load(std::move(load));
  TenantReply reply{.view = view()};
  reply.waiting = load_->reader->rows();
  return reply;
}

// Collects the changes without a reply, and refuses those that do not fit this version.
TenantTable::Edits TenantKeeper::edits_of(const Jobs& jobs, const Version& before) {
  TenantTable::Edits all;
  std::map<KeyHash, TenantTable::Row> rows;
  for (const auto& job : jobs) {
    const auto is_strange = [&] {
      return job->wanted.table->secret().bytes != before.table->secret().bytes;
    };
    // Another node made the first change of the table ever. Of a load, only the last part is here.
    const bool is_whole = job->change.part.value_or(TenantChange::Part()).of == 1;
    if (!job->reply && is_strange() && is_whole) {
      job->reply = read(job->change, job->wanted);
    }
    if (job->reply) continue;
    const TenantTable::Edits& edits = job->wanted.edits;
    if (is_strange()) {
      job->reply = refusal(ChangeOutcome::kConflict, std::string(kOvertaken));
    } else if (const auto tag = tenant_tag(before.head.number, *before.table);
               job->change.if_tag.value_or(tag) != tag ||
               job->change.if_version.value_or(before.head.number) != before.head.number) {
      job->reply = refusal(ChangeOutcome::kOutdated,
                           "The change is meant for another version of the table of tenants, "
                           "which is at version " +
                               std::to_string(before.head.number) + ".");
    } else if (job->is_one()) {
      const TenantTable::Row& row = edits.rows.front();
      const auto found = rows.find(row.key);
      const bool is_there = found == rows.end() ? before.table->find(row.key).has_value()
                                                : found->second.limit != TenantTable::kGone;
      if (job->change.kind == TenantChange::Kind::kRemove && !is_there) {
        job->reply = refusal(ChangeOutcome::kUnknown, "This key is not in the table of tenants.");
        continue;
      }
      job->is_new = !is_there;
      rows.insert_or_assign(row.key, row);
      if (!edits.plans.empty()) all.plans = edits.plans;  // all have the same
    } else {
      all = edits;
      if (job->change.kind == TenantChange::Kind::kMerge) break;
      auto others = before.table->all_gone();
      std::ranges::set_difference(others, edits.rows, std::back_inserter(all.rows), std::less(),
                                  &TenantTable::Row::key, &TenantTable::Row::key);
      std::ranges::sort(all.rows, std::less(), &TenantTable::Row::key);
    }
  }
  for (const auto& [key, row] : rows) all.rows.push_back(row);
  return all;
}

SharedTenants::Outcome TenantKeeper::offer(SharedTenants::Offer offer, const Version& before) {
  if (world_.fleet == nullptr) return Outcome::kTaken;
  const bool was_away = world_.fleet->since().has_value();
  const Outcome outcome = world_.fleet->offer(std::move(offer), kOfferMax);
  if (outcome == Outcome::kTaken) before_ = nullptr;
  if (outcome == Outcome::kAway && !was_away) before_ = before.table;
  return outcome;
}

// Another node may change the table first. These changes are then made on top of that, unless their
// author wants to know.
void TenantKeeper::put_in_force(const Jobs& jobs) {
  const auto all_have_replies = [&] {
    return std::ranges::all_of(jobs, [](const auto& job) { return job->reply.has_value(); });
  };
  const auto reply = [&](const auto& make_reply) {
    for (const auto& job : jobs) {
      if (!job->reply) job->reply = make_reply(*job);
    }
  };
  const auto refuse = [&](ChangeOutcome outcome, std::string_view why) {
    reply([&](const Job&) { return refusal(outcome, std::string(why)); });
  };
  for (int attempt = 1; attempt <= kAttemptsMax; ++attempt) {
    const Version before = current();
    TenantTable::Edits edits = edits_of(jobs, before);
    if (all_have_replies()) return;
    auto [table, changed] = before.table->edited(std::move(edits));
    if (table == nullptr) {
      return refuse(ChangeOutcome::kConflict,
                    "The table of tenants would have more than 1048576 rows, or 1024 plans.");
    }
    const std::uint64_t number =
        world_.fleet == nullptr ? before.head.number + 1 : world_.fleet->next_number();
    Version next{{number, table->digest()}, std::move(table)};
    const TenantChange::Kind kind = jobs.front()->change.kind;
    const bool is_all = kind == TenantChange::Kind::kReplace || kind == TenantChange::Kind::kClear;
    const Outcome outcome = offer({next, std::move(changed), is_all}, before);
    if (outcome == Outcome::kUnreadable) return refuse(ChangeOutcome::kConflict, kUnreadable);
    if (outcome == Outcome::kBusy) return refuse(ChangeOutcome::kNotNow, kBusy);
    if (outcome != Outcome::kOutdated) {
      use(std::move(next));
      if (world_.fleet == nullptr || outcome == Outcome::kAway) keep();
      return reply([&](const Job& job) {
        const TenantView now = view();
        spdlog::info("tenants: {} in version {}, by {}", count_of(now.table->size(), "row"),
                     now.version, job.change.who);
        const bool is_added = job.change.kind == TenantChange::Kind::kPut && job.is_new;
        return TenantReply{.outcome = is_added ? ChangeOutcome::kAdded : ChangeOutcome::kDone,
                           .view = now};
      });
    }
    if (!catch_up()) return refuse(ChangeOutcome::kNotNow, kBehind);
    if (!jobs.front()->is_one() && attempt == kLoadAttemptsMax) break;
  }
  refuse(ChangeOutcome::kNotNow, kBusy);
}

void TenantKeeper::follow_fleet() {
  world_.changer.run(
      [this] {
        follow();
        return RuleReply();
      },
      [](const RuleReply&) {});
}

// Reads the changes; if they make a wrong table, reads all of it. False: Redis has not answered.
bool TenantKeeper::catch_up() {
  for (int reads = 0; world_.fleet != nullptr && reads < 2; ++reads) {
    if (!world_.fleet->await_news(kNewsMax)) return false;
    follow();
  }
  return true;
}

void TenantKeeper::follow() {
  if (world_.fleet == nullptr) return;
  const auto news = world_.fleet->news();
  if (!news) return;
  auto table = table_of(*news, current().table);
  if (table != nullptr) {
    if (const auto since = world_.fleet->since()) note_lost(*since, {news->head, table});
    before_ = nullptr;
    use({news->head, table});
  } else if (news->is_whole) {
    spdlog::warn("redis: the table of tenants there cannot be read; this node keeps its own");
  }
  world_.fleet->take(news->head, std::move(table));
}

void TenantKeeper::note_lost(const SharedHead& since, const Version& theirs) {
  const TenantTablePtr own = current().table;
  const TenantTable& before = before_ == nullptr ? *theirs.table : *before_;
  const std::size_t rows = own->changes_lost(before, *theirs.table);
  if (rows == 0) return;
  const std::string text = fmt::format(
      "{} changed here without Redis since version {} gave way to version {}, which "
      "others made meanwhile: load what is missing again",
      count_of(rows, "row"), since.number, theirs.head.number);
  spdlog::warn("tenants: {}", text);
  world_.tell({.kind = TrafficEvent::Kind::kTenants,
               .at = CoreDenials::second_of(world_.now()),
               .text = text});
  const std::scoped_lock lock(mutex_);
  lost_ = {.since = since.number, .version = theirs.head.number, .rows = rows};
}

std::optional<Fault> TenantKeeper::keep_in(std::string path) {
  const std::scoped_lock keeping(keeping_);
  file_ = SealedFile(std::move(path), kFile);
  return file_.load([this](std::string_view body) {
    auto version = tenants_in(body);
    if (!version) return false;
    saved_ = {.head = version->head, .since = version->since};
    spdlog::info("{}: {} of tenants", file_.path(), count_of(version->table->size(), "row"));
    if (world_.fleet != nullptr) world_.fleet->begin(*version);
    const std::scoped_lock lock(mutex_);
    version_ = *std::move(version);
    return true;
  });
}

void TenantKeeper::save() {
  if (world_.now() >= load_end_.load(std::memory_order_relaxed)) {
    world_.changer.run(
        [this] {
          if (load_ && world_.now() - load_->last >= kPartMax) keep_load(std::nullopt);
          return RuleReply();
        },
        [](const RuleReply&) {});
  }
  keep();
}

void TenantKeeper::keep() {
  const std::scoped_lock keeping(keeping_);
  if (!file_.is_used()) return;
  Version version = current();
  version.since = world_.fleet == nullptr ? std::nullopt : world_.fleet->since();
  if (version.head == saved_.head && version.since == saved_.since) return;
  if (!file_.save(to_bytes(version))) saved_ = {.head = version.head, .since = version.since};
}

}  // namespace weir
