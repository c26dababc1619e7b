#include "cli/node/tenant_keeper.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

#include "base/packed.h"
#include "config/config.h"
#include "rulebook/replace_file.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

constexpr std::string_view kName = "weir tenants ";
constexpr std::string_view kFileVersion = "weir tenants 1 ";
constexpr int kAttemptsMax = 5;

constexpr std::string_view kOvertaken =
    "Somebody else has changed the table of tenants meanwhile, and nothing of this change is in "
    "force. Look at it, and ask again.";

// What plans there are: tiers of rules that look at tenants.
std::vector<std::string> plans_in(const RuleSet& rules) {
  std::set<std::string> plans;
  for (const Rule& rule : rules.rules()) {
    if (!rule.has_tenants) continue;
    for (const auto& [name, limits] : rule.tiers) plans.insert(name);
  }
  return {plans.begin(), plans.end()};
}

std::string bytes_of(const SharedTenants::Version& version) {
  PackedWriter out;
  const auto& secret = version.table->secret().bytes;
  out.number(version.head.number);
  out.text({reinterpret_cast<const char*>(secret.data()), secret.size()});
  for (std::size_t i = 0; i < TenantTable::kBuckets; ++i) {
    const auto bucket = static_cast<std::uint16_t>(i);
    if (!version.table->is_empty(bucket)) {
      out.number(bucket).text(version.table->bucket_bytes(bucket));
    }
  }
  std::string body = out.take();
  return fmt::format("{}{:016x}\n", kFileVersion, XXH3_64bits(body.data(), body.size())) + body;
}

std::optional<SharedTenants::Version> version_in(std::string_view text) {
  const std::string_view head = text.substr(0, text.find('\n') + 1);
  const std::string_view body = text.substr(head.size());
  const auto sum = XXH3_64bits(body.data(), body.size());
  if (head != fmt::format("{}{:016x}\n", kFileVersion, sum)) return std::nullopt;
  PackedReader in(body);
  const auto number = in.number(SharedTenants::kNumberMax);
  const std::string_view bytes = in.text(sizeof(HashSecret::bytes));
  HashSecret secret;
  in.require(bytes.size() == secret.bytes.size());
  if (!in.is_right()) return std::nullopt;
  std::memcpy(secret.bytes.data(), bytes.data(), bytes.size());
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
  return SharedTenants::Version{{number, table->digest()}, std::move(table)};
}

}  // namespace

TenantKeeper::TenantKeeper(World world, const HashSecret& secret)
    : world_(std::move(world)), version_{{}, std::make_shared<const TenantTable>(secret)} {}

TenantKeeper::Version TenantKeeper::current() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

TenantView TenantKeeper::view() const {
  const Version version = current();
  TenantView view{.table = version.table, .version = version.head.number};
  if (world_.fleet != nullptr) view.is_told = world_.fleet->is_told();
  return view;
}

// The old table goes when all cores have the new one, and not on a core.
void TenantKeeper::use(Version version) {
  {
    const std::scoped_lock lock(mutex_);
    std::swap(version_, version);
  }
  world_.apply();
}

TenantReply TenantKeeper::refusal(ChangeOutcome outcome, std::string detail) const {
  return {.outcome = outcome, .detail = std::move(detail), .view = view()};
}

void TenantKeeper::change(TenantChange change, Done done) {
  const auto reply = std::make_shared<TenantReply>();
  world_.changer.run(
      [this, reply, change = std::move(change)] {
        *reply = make(change);
        return RuleReply();
      },
      [this, reply, done = std::move(done)](const RuleReply& outcome) {
        if (is_refusal(outcome.outcome)) *reply = refusal(outcome.outcome, outcome.detail);
        done(std::move(*reply));
      });
}

TenantReply TenantKeeper::make(const TenantChange& change) {
  follow();
  Wanted wanted;
  if (auto other = read(change, wanted)) return *std::move(other);
  TenantReply reply = put_in_force(change, wanted);
  if (!is_refusal(reply.outcome)) {
    spdlog::info("tenants: {} in version {}, by {}", count_of(reply.view.table->size(), "row"),
                 reply.view.version, change.who);
  }
  return reply;
}

std::unique_ptr<TenantReader> TenantKeeper::reader() const {
  return std::make_unique<TenantReader>(current().table, plans_in(*world_.rules()));
}

// Fills the edits; else a reply says why not, or that more parts are to come.
std::optional<TenantReply> TenantKeeper::read(const TenantChange& change, Wanted& wanted) {
  wanted.table = current().table;
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
    load.reader->finish();
  }
  if (auto mistakes = load.reader->mistakes(); !mistakes.empty()) {
    mistakes.pop_back();
    return refusal(ChangeOutcome::kMalformed, std::move(mistakes));
  }
  wanted.table = load.reader->table();
  wanted.edits = load.reader->take();
  return std::nullopt;
}

// Reads the text, or as a part of a load. `load` is all of it if nothing is returned.
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
      return refusal(ChangeOutcome::kConflict, "Another load is under way on this node.");
    }
    if (part.number > 1 && (!is_same || load_->parts + 1 != part.number)) {
      return refusal(ChangeOutcome::kConflict,
                     "The parts before this one are not on this node. Begin again, with part 1.");
    }
    if (is_same && part.number > 1) load = *std::exchange(load_, std::nullopt);
    load_.reset();
  }
  load.name = part.load;
  load.parts = part.number;
  load.of = part.of;
  load.kind = change.kind;
  load.last = now;
  load.reader->read(change.text);
  const bool waits = part.number < part.of && load.reader->mistakes().empty();
  if (!waits) return std::nullopt;
  load_ = std::move(load);
  TenantReply reply{.view = view()};
  reply.waiting = load_->reader->rows();
  return reply;
}

// Another node may be quicker with a change of its own: then this one is made on top of that,
// unless its author wants to know.
TenantReply TenantKeeper::put_in_force(const TenantChange& change, const Wanted& wanted) {
  const TenantTable::Edits& edits = wanted.edits;
  using enum TenantChange::Kind;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const Version before = current();
    if (before.table->secret().bytes != wanted.table->secret().bytes) break;
    if (change.if_version && *change.if_version != before.head.number) {
      return refusal(ChangeOutcome::kOutdated,
                     "The table of tenants is at version " + std::to_string(before.head.number));
    }
    const bool is_one = change.kind == kPut || change.kind == kRemove;
    const bool was_there = is_one && before.table->find(edits.rows.front().key);
    if (change.kind == kRemove && !was_there) {
      return refusal(ChangeOutcome::kUnknown, "This key is not in the table of tenants.");
    }
    TenantTable::Edits all = edits;
    if (change.kind == kReplace) {
      auto others = before.table->all_gone();
      std::ranges::set_difference(others, edits.rows, std::back_inserter(all.rows), std::less(),
                                  &TenantTable::Row::key, &TenantTable::Row::key);
      std::ranges::sort(all.rows, std::less(), &TenantTable::Row::key);
    }
    auto [table, changed] = before.table->edited(std::move(all));
    if (table == nullptr) {
      return refusal(ChangeOutcome::kConflict,
                     "The table of tenants would have more than 1048576 rows, or 1024 plans.");
    }
    Version next{{before.head.number + 1, table->digest()}, std::move(table)};
    const bool is_taken =
        world_.fleet == nullptr || world_.fleet->offer(next, std::move(changed), kOfferMax) !=
                                       SharedTenants::Outcome::kOutdated;
    if (is_taken) {
      use(std::move(next));
      const bool is_new = change.kind == kPut && !was_there;
      return {.outcome = is_new ? ChangeOutcome::kAdded : ChangeOutcome::kDone, .view = view()};
    }
    if (change.if_version || !is_one) break;
    follow();
  }
  return refusal(ChangeOutcome::kConflict, std::string(kOvertaken));
}

void TenantKeeper::follow_fleet() {
  world_.changer.run(
      [this] {
        follow();
        return RuleReply();
      },
      [](const RuleReply&) {});
}

void TenantKeeper::follow() {
  if (world_.fleet == nullptr) return;
  const auto news = world_.fleet->news();
  if (!news) return;
  const auto base =
      news->is_whole ? std::make_shared<const TenantTable>(news->secret) : current().table;
  TenantTable::Edits edits;
  bool is_right = base->secret().bytes == news->secret.bytes;
  for (const auto& [bucket, bytes] : news->buckets) {
    is_right = is_right && base->read_bucket(bucket, bytes, edits);
  }
  auto table = is_right ? base->edited(std::move(edits)).table : nullptr;
  if (table != nullptr && table->digest() != news->head.digest) table = nullptr;
  if (table != nullptr) {
    use({news->head, table});
  } else if (news->is_whole) {
    spdlog::warn("redis: the table of tenants there cannot be read; this node keeps its own");
  }
  world_.fleet->take(news->head, std::move(table));
}

std::optional<Fault> TenantKeeper::keep_in(std::string path) {
  path_ = std::move(path);
  if (path_.empty()) return std::nullopt;
  const auto read = read_file(path_, SharedTenants::kBytesMax);
  if (read) {
    auto version = version_in(*read);
    if (version) {
      saved_ = version->head;
      spdlog::info("{}: {} of tenants", path_, count_of(version->table->size(), "row"));
      if (world_.fleet != nullptr) world_.fleet->begin(*version);
      const std::scoped_lock lock(mutex_);
      version_ = *std::move(version);
    } else if (!read->starts_with(kName)) {
      return Fault{path_ + " is no table of tenants; move it"};
    } else if (std::rename(path_.c_str(), (path_ + ".broken").c_str()) == 0) {
      spdlog::error("{} is damaged: starting without its tenants; it is now {}.broken", path_,
                    path_);
    }
  } else if (read.error() != std::errc::no_such_file_or_directory) {
    return Fault{"cannot read " + path_ + ": " + read.error().message()};
  }
  return std::nullopt;
}

void TenantKeeper::save() {
  const Version version = current();
  if (path_.empty() || version.head == saved_) return;
  if (const auto error = replace_file(path_, bytes_of(version), kOwnerOnly)) {
    if (!std::exchange(has_failed_, true)) spdlog::error("tenants are not kept: {}", *error);
    return;
  }
  has_failed_ = false;
  saved_ = version.head;
}

}  // namespace weir
