#include "replay/world.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "gate/gate.h"
#include "replay/left_out.h"

namespace weir::lab {
namespace {

// Carries the log's country, if it has one.
constexpr std::string_view kCountryHeader = "Weir-Country-Of-The-Log";

constexpr std::size_t kKeysMax = std::size_t{1} << 20;

Duration longest_window(const Rule& rule) {
  return std::ranges::max(rule.own_limits(), {}, &Quota::window).window();
}

IpAddress address_of_name(std::string_view name) {
  std::array<std::uint8_t, 16> bytes{1};
  std::uint64_t hash = XXH3_64bits(name.data(), name.size());
  for (std::size_t i = 1; i < 8; ++i, hash >>= 8) bytes[i] = static_cast<std::uint8_t>(hash);
  return IpAddress::v6(bytes);
}

}  // namespace

std::optional<IpAddress> client_in(std::string_view text) {
  if (text.empty()) return std::nullopt;
  if (const auto address = IpAddress::parse(text)) return address;
  std::string_view host = text.substr(0, text.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (const auto address = IpAddress::parse(host)) return address;
  return address_of_name(text);
}

World::World(Config config, const LogKnows& knows, Instant start)
    : country_header_(knows.country || config.sources.country_header.empty()
                          ? std::string(kCountryHeader)
                          : config.sources.country_header),
      court_(std::make_unique<Court>(take_rules(config, knows),
                                     MemoryStoreOptions{.max_keys = kKeysMax}, start)),
      chart_(2 + rules().size(), std::chrono::floor<std::chrono::seconds>(start)) {
  for (const Rule& rule : rules()) tallies_.push_back({.window = longest_window(rule)});
}

RuleSetPtr World::take_rules(Config& config, const LogKnows& knows) {
  std::vector<Rule> kept;
  for (Rule& rule : config.rules) {
    std::string reason = lacking(rule, config.sources, knows);
    if (reason.empty()) {
      kept.push_back(std::move(rule));
    } else {
      left_out_.emplace_back(rule.id, std::move(reason));
    }
  }
  RequestSources sources = std::move(config.sources);
  sources.country_header = country_header_;
  return std::make_shared<const RuleSet>(std::move(kept), std::move(sources));
}

void World::describe(const LoggedRequest& logged) {
  Request& request = described_.request;
  request = {.method = logged.method};
  request.client = client_in(logged.client);
  named_ += is_named(request.client);
  if (court_->rules().needs().headers) {
    described_.headers = logged.headers;
    if (!logged.country.empty()) described_.headers.push_back({kCountryHeader, logged.country});
    request.headers = described_.headers;
  }
  if (court_->rules().needs().host) set_host(logged.host, described_);
  is_clear_ = set_uri(logged.uri, described_);
}

// False: the request is refused.
bool World::ask(Instant now) {
  Asks& asks = court_->begin();
  debts_.clear();
  if (!is_clear_) return false;
  const auto refusal = ask_rules(court_->rules(), described_, now, asks, [&](Ask& ask) {
    if (ask.rule->response) {
      debts_.push_back({asks.size(), ask.cost});
      ask.cost = 1;
      ask.counting = Ask::Counting::kNothing;
      ask.under_way = ask.rule->response->reserved > 0 ? 1 : 0;
    }
    ask.patience = ask.rule->denial.delay_max;
    return true;
  });
  return !refusal;
}

bool World::judge(const LoggedRequest& logged) {
  const Instant now = logged.time;
  ++requests_;
  chart_.add(0, now);
  describe(logged);
  denier_ = nullptr;
  records_.clear();
  const bool is_refused = !ask(now);
  if (is_refused) {
    ++refused_;
  } else {
    Asks& asks = court_->asks();
    decide(asks, now);
    for (std::size_t i = 0; i < asks.size(); ++i) note(i, logged);
  }
  const bool is_denied = is_refused || denier_ != nullptr;
  if (is_denied) {
    ++denied_;
    chart_.add(1, now);
  } else if (!debts_.empty()) {
    pay(logged.status, now);
  }
  return is_denied;
}

// Fetches what memory has of the keys while the rules decide.
void World::decide(Asks& asks, Instant now) {
  hashes_.clear();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const Ask& ask = asks.ask(i);
    hashes_.push_back(KeyNumbers::hash(number_of(*ask.rule), ask.key));
    ledger_.prefetch(hashes_.back());
  }
  asks.decide(now);
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const auto record = ledger_.find(hashes_[i], number_of(*asks.ask(i).rule));
    if (record) exact_.prefetch(*record);
    records_.push_back(record);
  }
  exact_.decide(asks, records_, now);
}

void World::note(std::size_t index, const LoggedRequest& logged) {
  const Ask& ask = court_->asks().ask(index);
  const std::uint32_t number = number_of(*ask.rule);
  const bool is_over = court_->asks().answer(index).over;
  const bool is_exactly_over = exact_.is_over(index);
  RuleTally& tally = tallies_[number];
  ++tally.requests;
  const bool is_spared = is_over && ask.is_shadow();
  tally.denied += is_over && !is_spared;
  tally.spared += is_spared;
  tally.exact_denied += is_exactly_over;
  tally.too_early += is_over && !is_exactly_over;
  tally.too_late += !is_over && is_exactly_over;
  if (is_over && !is_spared) denier_ = ask.rule;
  if (is_over) chart_.add(2 + number, logged.time);
  const auto record = records_[index];
  if (!record) {
    ++beyond_;
    return;
  }
  KeyRecord& key = ledger_[*record];
  KeyLedger::count(key, tally.window, logged.time);
  key.denied += is_over && !is_spared;
  key.spared += is_spared;
  if (is_over) ledger_.name(key, ask.key, logged.client, logged.time);
}

// Charges the costs that rules count by the response.
void World::pay(int status, Instant now) {
  for (const Debt& debt : debts_) {
    const Ask& looked = court_->asks().ask(debt.ask);
    if (!looked.rule->response->counts(status)) continue;
    if (!court_->asks().answer(debt.ask).over) court_->charge(looked, debt.cost, now);
    if (!exact_.is_over(debt.ask)) exact_.charge(looked, records_[debt.ask], debt.cost, now);
  }
}

void World::compare(bool denied_elsewhere) {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (!records_[i]) continue;
    KeyRecord& key = ledger_[*records_[i]];
    const bool is_denied = court_->asks().answer(i).over && !court_->asks().ask(i).is_shadow();
    key.elsewhere += denied_elsewhere;
    key.newly += is_denied && !denied_elsewhere;
  }
}

std::string_view World::denier() const {
  return denier_ == nullptr ? std::string_view() : std::string_view(denier_->id);
}

}  // namespace weir::lab
