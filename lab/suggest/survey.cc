#include "suggest/survey.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/ascii.h"
#include "config/config.h"
#include "engine/ask.h"
#include "replay/report.h"
#include "replay/world.h"

namespace weir::lab {
namespace {

constexpr std::array<std::string_view, kWindows.size()> kWindowNames = {"1 s", "10 s", "1 m",
                                                                        "1 h"};
constexpr std::size_t kShort = 1;  // of kWindows
constexpr std::size_t kLong = 2;
constexpr std::size_t kNamesShown = 5;
constexpr double kHeadroom = 1.5;
constexpr double kHeadroomOfFew = 3;  // for clients too few for the wanted share
constexpr std::uint32_t kShortMin = 10;
constexpr std::uint32_t kLongMin = 20;

// get-users-posts
std::string id_of(const Endpoint& endpoint, const std::vector<std::string>& taken) {
  std::string id;
  for (const char c : endpoint.method + endpoint.path) {
    const char small = ascii_lower(c);
    const bool is_plain = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
    if (is_plain) id += small;
    if (!is_plain && !id.ends_with('-')) id += '-';
  }
  while (id.ends_with('-')) id.pop_back();
  std::string unique = id;
  for (int number = 2; std::ranges::find(taken, unique) != taken.end(); ++number) {
    unique = fmt::format("{}-{}", id, number);
  }
  return unique;
}

struct Limits {
  std::uint32_t shorter = 1;
  std::uint32_t longer = 1;
};

std::string rule_yaml(const std::string& id, const Endpoint* endpoint, const Limits& limits) {
  std::string match = "{}\n    group: site";
  if (endpoint != nullptr) {
    const std::string methods = endpoint->method == "GET" ? "[GET, HEAD]" : endpoint->method;
    match = fmt::format("{{method: {}, path: \"{}\"}}", methods, endpoint->path);
  }
  return fmt::format(
      "  - id: {}\n    match: {}\n    key: client\n    algorithm: sliding_window\n"
      "    limit: {}\n    window: 1m\n    more_limits: [{{limit: {}, window: 10s}}]\n",
      id, match, limits.longer, limits.shorter);
}

// The value that this share of them do not exceed. REQUIRES: `values` is not empty
std::uint32_t quantile(std::vector<std::uint32_t> values, double share) {
  const auto count = static_cast<double>(values.size());
  const auto place = std::min(count - 1, std::max(0.0, std::ceil(share * count) - 1));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, nth);
  return *nth;
}

// Two digits, the second one 0 or 5 below a hundred.
std::uint32_t rounded_up(double value) {
  double step = 5;
  while (value / step >= 100) step *= 10;
  if (step > 5) step /= 5;
  return static_cast<std::uint32_t>(std::ceil(value / step) * step);
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

// With 95 % confidence at most this share of all clients is over, if `over` of `of` are.
double at_most(std::size_t over, std::size_t of) {
  const auto count = static_cast<double>(over);
  return std::min(1.0, (count + 2 * std::sqrt(count) + 3) / static_cast<double>(of));
}

}  // namespace

Survey::Survey(std::vector<Endpoint> endpoints) : endpoints_(std::move(endpoints)) {
  std::string yaml = "rules:\n";
  for (const Endpoint& endpoint : endpoints_) {
    ids_.push_back(id_of(endpoint, ids_));
    yaml += rule_yaml(ids_.back(), &endpoint, {});
  }
  ids_.emplace_back("site");
  yaml += rule_yaml(ids_.back(), nullptr, {});
  auto config = parse_config(yaml, "the suggested rules");
  if (!config) throw std::logic_error(config.error().front().to_string());
  rules_ = std::make_shared<const RuleSet>(std::move(config->rules));
}

void Survey::count(const LoggedRequest& logged) {
  ++requests_;
  described_.request = {.method = logged.method};
  described_.request.client = client_in(logged.client);
  if (!set_target(logged.uri, logged.host, described_)) return;
  const auto matched = rules_->match(described_.request, described_.match, logged.time);
  std::uint32_t client = 0;
  for (std::size_t i = matched.size(); i-- > 0;) {  // the rule of the whole site comes first
    const auto rule = static_cast<std::uint32_t>(matched[i] - rules_->rules().data());
    key_.clear();
    PartScratch tier{};
    Ask ask;
    ask_about(*matched[i], described_.request, key_, tier, ask);
    const auto number = numbers_.find(KeyNumbers::hash(rule, key_));
    if (!number) {
      ++beyond_;
      return;
    }
    if (*number == visits_.size()) {
      if (rule == endpoints_.size()) {
        client = static_cast<std::uint32_t>(clients_.size());
        clients_.push_back({.name = shown(logged.client), .visit = *number});
      }
      visits_.push_back({.rule = rule, .client = client});
    }
    Visit& visit = visits_[*number];
    client = visit.client;
    ++visit.requests;
    visit.errors += logged.status / 100 == 4 && logged.status != 429;
    visit.peaks.count(logged.time);
  }
}

// Why each client is set aside; empty: it is honest.
std::vector<std::string_view> Survey::scanners() const {
  std::vector<std::uint32_t> minutes;
  for (const Client& client : clients_) minutes.push_back(visits_[client.visit].peaks.of(kLong));
  const std::uint32_t most = minutes.empty() ? 0 : quantile(minutes, 0.9);
  std::vector<std::string_view> reasons;
  for (const Client& client : clients_) {
    const Visit& visit = visits_[client.visit];
    const std::uint32_t peak = visit.peaks.of(kLong);
    const bool has_failed =
        visit.requests >= kScannerRequests && 2 * visit.errors >= visit.requests;
    const bool has_rushed = peak >= kScannerPeak && peak > 10 * most;
    reasons.push_back(has_failed ? "errors" : has_rushed ? "rate" : "");
  }
  return reasons;
}

std::string Survey::scanners_text(const std::vector<std::string_view>& reasons) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (!reasons[i].empty()) found.push_back(i);
  }
  std::ranges::stable_sort(found, std::greater(),
                           [&](std::size_t i) { return visits_[clients_[i].visit].requests; });
  std::string text = fmt::format(
      "#\n# {} of {} clients are set apart, as they look like scanners: at least {} requests, "
      "half\n"
      "# of them answered 4xx (429 aside); or at least {} in a minute, over ten times what 90 % "
      "of\n"
      "# clients reach.\n",
      found.size(), clients_.size(), kScannerRequests, kScannerPeak);
  for (std::size_t i = 0; i < std::min(4 * kNamesShown, found.size()); ++i) {
    const Client& client = clients_[found[i]];
    const Visit& visit = visits_[client.visit];
    text += fmt::format(
        "#   {}: by its {}; {} requests, {} answered 4xx, {} in its busiest minute\n", client.name,
        reasons[found[i]], visit.requests, visit.errors, visit.peaks.of(kLong));
  }
  return text;
}

std::string Survey::rule_text(std::size_t rule, const Visits& honest, double share) const {
  const bool is_site = rule == endpoints_.size();
  std::string text =
      "\n  # " + (is_site ? "All requests" : endpoints_[rule].method + " " + endpoints_[rule].path);
  std::uint64_t requests = 0;
  for (const Visit* visit : honest) requests += visit->requests;
  text += fmt::format(": {} requests of {} honest clients.\n", requests, honest.size());
  if (honest.size() < kClientsMin) return text + "  # So few say nothing: no limit is suggested.\n";
  const auto reached = [&](std::size_t window, double part) {
    std::vector<std::uint32_t> peaks;
    for (const Visit* visit : honest) peaks.push_back(visit->peaks.of(window));
    return quantile(std::move(peaks), part);
  };
  text += fmt::format("  # What a client reaches {:>8}", "");
  for (const auto name : kWindowNames) text += fmt::format(" in {:>5}", name);
  for (const auto& [name, part] :
       {std::pair{"half of them", 0.5}, {"99 %", 0.99}, {"99.9 %", 0.999}, {"all", 1.0}}) {
    text += fmt::format("\n  # {:>30}", name);
    for (std::size_t window = 0; window < kWindows.size(); ++window) {
      text += fmt::format(" {:>8}", reached(window, part));
    }
  }
  const bool are_few = static_cast<double>(honest.size()) * share < 1;
  const double headroom = are_few ? kHeadroomOfFew : kHeadroom;
  const auto limit = [&](std::size_t window, std::uint32_t least) {
    return std::max(least, rounded_up(headroom * reached(window, 1 - share)));
  };
  const Limits limits{.shorter = limit(kShort, kShortMin), .longer = limit(kLong, kLongMin)};
  Visits over;
  std::ranges::copy_if(honest, std::back_inserter(over), [&](const Visit* visit) {
    return visit->peaks.of(kShort) > limits.shorter || visit->peaks.of(kLong) > limits.longer;
  });
  text += fmt::format(
      "\n  # Limit and burst are {} times what {} of them reach, or more. They would have denied "
      "{} of\n"
      "  # these clients; with 95 % confidence, at most {} of others like them.\n",
      headroom, percent(are_few ? 1 : 1 - share), over.size(),
      percent(at_most(over.size(), honest.size())));
  for (std::size_t i = 0; i < std::min(kNamesShown, over.size()); ++i) {
    text += fmt::format("  #   {}: {} in a minute, {} in 10 s\n", clients_[over[i]->client].name,
                        over[i]->peaks.of(kLong), over[i]->peaks.of(kShort));
  }
  return text + rule_yaml(ids_[rule], is_site ? nullptr : &endpoints_[rule], limits);
}

std::string Survey::rules_text(const std::string& head, double share) const {
  const auto reasons = scanners();
  std::vector<Visits> honest(ids_.size());
  for (const Visit& visit : visits_) {
    if (reasons[visit.client].empty()) honest[visit.rule].push_back(&visit);
  }
  std::string text = head + scanners_text(reasons);
  if (beyond_ > 0)
    text += fmt::format("# {} requests of further clients were left out.\n", beyond_);
  text += "rules:\n";
  for (std::size_t rule = 0; rule < ids_.size(); ++rule) {
    text += rule_text(rule, honest[rule], share);
  }
  return text;
}

}  // namespace weir::lab
