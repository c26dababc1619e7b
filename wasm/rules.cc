#include "rules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ask.h"
#include "rules/packed/packed_rules.h"
#include "rules/request/plain_value.h"
#include "rules/request/request_path.h"
#include "rules/rule_set.h"

namespace weir {
namespace {

constexpr std::size_t kLimitsMax = 16;  // that apply at once to the readings of a path

struct Applied {
  const Rule* rule = nullptr;
  WeirList list = kWeirCounted;
  std::string key{};
  std::string tier{};
  std::span<const Quota> limits{};
};

struct World {
  std::string text;
  std::array<double, 8> answer;
  RuleSet* rules = nullptr;

  // Of the last request.
  Request request;
  std::vector<NameValue> headers;
  PathReadings readings;
  MatchScratch scratch;
  std::vector<Applied> applied;

  std::string fields;
  std::string body;
};
World* world = nullptr;

template <typename... Numbers>
void tell(Numbers... numbers) {
  world->answer = {static_cast<double>(numbers)...};
}

std::uint32_t place_of(const void* memory) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(memory));
}

// False if origins read it differently.
bool read_request(std::string_view text) {
  const auto next = [&] { return take_until(text, '\0'); };
  Request& request = world->request;
  request = {.method = next(), .host = next()};
  const bool is_readable = world->readings.read(next());
  const auto paths = world->readings.all();
  request.query = next();
  request.client = IpAddress::parse(next());
  world->headers.clear();
  bool is_plain = true;
  while (!text.empty()) {
    const std::string_view name = next();
    const std::string_view value = next();
    world->headers.push_back({.name = name, .value = value});
    is_plain = is_plain && is_plain_value(value);
  }
  request.headers = world->headers;
  if (!is_readable || !is_plain) return false;
  request.path = paths.front();
  request.other_paths = paths.subspan(1);
  return true;
}

WeirList list_of(const Ask& ask) {
  if (ask.is_on_deny_list()) return kWeirDenied;
  if (ask.is_on_allow_list()) return kWeirAllowed;
  return ask.key_state == Ask::KeyState::kRefused ? kWeirMissing : kWeirCounted;
}

std::span<const Quota> limits_of(const Ask& ask) {
  const bool has_choice = ask.choices != nullptr && !ask.choices->are_too_many();
  return has_choice ? least_limits(*ask.rule, *ask.choices)
                    : ask.rule->limits_for(ask.key, ask.tier);
}

bool apply(const Rule& rule) {
  std::string key;
  PartScratch tier{};
  Ask ask;
  ask_about(rule, world->request, key, tier, ask);
  const bool is_known = std::ranges::any_of(world->applied, [&](const Applied& other) {
    return other.rule == &rule && other.key == ask.key && other.tier == ask.tier;
  });
  if (is_known) return true;
  world->applied.push_back({.rule = &rule,
                            .list = list_of(ask),
                            .key = std::string(ask.key),
                            .tier = std::string(ask.tier),
                            .limits = limits_of(ask)});
  return true;
}

// Further readings of a path are its client's doing.
bool are_too_many() {
  std::size_t limits = 0;
  for (const Applied& each : world->applied) limits += each.rule->shadow ? 0 : each.limits.size();
  return !world->request.other_paths.empty() && limits > kLimitsMax;
}

}  // namespace
}  // namespace weir

using namespace weir;

std::uint8_t* weir_text(std::uint32_t bytes) {
  if (world == nullptr) world = new World;
  if (world->text.size() < bytes) world->text.resize(bytes);
  return reinterpret_cast<std::uint8_t*>(world->text.data());
}

const double* weir_answer() { return world->answer.data(); }

int weir_rules(std::uint32_t length) {
  auto rules = unpacked_rules(std::string_view(world->text.data(), length));
  if (!rules) return -1;
  world->rules = new RuleSet(*std::move(rules), {.country_header = ":country"});
  return static_cast<int>(world->rules->rules().size());
}

void weir_rule(int index) {
  const Rule& rule = world->rules->rules()[static_cast<std::size_t>(index)];
  tell(place_of(rule.id.data()), rule.id.size(), rule.cost, rule.shadow);
}

int weir_match(std::uint32_t length, double now) {
  world->applied.clear();
  if (!read_request(std::string_view(world->text.data(), length))) return -1;
  const Instant at = instant_from_epoch_us(static_cast<std::int64_t>(now));
  world->rules->for_each_match(world->request, world->scratch, at, apply);
  return are_too_many() ? -1 : static_cast<int>(world->applied.size());
}

void weir_applied(int place) {
  const Applied& it = world->applied[static_cast<std::size_t>(place)];
  tell(it.rule - world->rules->rules().data(), it.list, place_of(it.key.data()), it.key.size(),
       place_of(it.tier.data()), it.tier.size(), place_of(it.limits.data()), it.limits.size());
}

void weir_limit(std::uint32_t limits, int index) {
  const Quota& quota = reinterpret_cast<const Quota*>(limits)[index];
  tell(static_cast<int>(quota.algorithm()), quota.limit(), quota.window().count(),
       quota.capacity());
}

void weir_deny(std::uint32_t length, double now, int place, double limit, double remaining,
               double retry_after, double reset_after) {
  weir_match(length, now);
  const Applied& it = world->applied[static_cast<std::size_t>(place)];
  const auto seconds = [](double count) {
    return Duration(std::chrono::seconds(static_cast<std::int64_t>(count)));
  };
  const Decision decision{.limit = static_cast<std::int64_t>(limit),
                          .remaining = static_cast<std::int64_t>(remaining),
                          .retry_after = seconds(retry_after),
                          .reset_after = seconds(reset_after)};
  const TemplateValues values{
      .rule = it.rule->id, .key = it.key, .decision = decision, .request = world->request};
  const Denial& denial = it.rule->denial;
  world->fields.clear();
  for (const HeaderTemplate& header : denial.headers) {
    (world->fields += header.name) += '\n';
    header.value.append(values, Escape::kHeader, world->fields);
    world->fields += '\n';
  }
  world->body.clear();
  if (denial.body) {
    ((world->fields += "Content-Type\n") += denial.content_type) += '\n';
    denial.body->append(values, escape_for(denial.content_type), world->body);
  }
  tell(denial.status, place_of(world->fields.data()), world->fields.size(),
       denial.body ? place_of(world->body.data()) : 0, world->body.size());
}
