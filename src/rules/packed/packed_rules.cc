#include "rules/packed/packed_rules.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "base/packed.h"

namespace weir {
namespace {

constexpr char kVersion = '1';
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kTextMax = std::size_t{1} << 20;  // as large as a whole configuration

// Writer and Reader have the same functions, so that one list of fields, at the end of this file,
// serves both.
class Writer {
 public:
  template <typename Number>
  void number(const Number& number, std::uint64_t = kNumberMax) {
    bytes_.number(static_cast<std::uint64_t>(number));
  }
  void text(const std::string& text) { bytes_.text(text); }
  template <typename Value, typename Write, typename Read>
  void as_text(const Value& value, Write write, Read) {
    bytes_.text(write(value));
  }
  template <typename Value, typename Each>
  void list(const std::vector<Value>& list, Each each) {
    number(list.size());
    for (const Value& value : list) each(*this, value);
  }
  template <typename Value, typename Each>
  void optional(const std::optional<Value>& value, Each each) {
    number(value.has_value());
    if (value) each(*this, *value);
  }
  // Sorted, so that equal rules are equal bytes.
  void texts(const auto& texts) {
    number(texts.size());
    for (const std::string& each : std::set(texts.begin(), texts.end())) text(each);
  }
  void limits_by_name(const Rule::LimitsByName& named) {
    number(named.size());
    for (const auto& [name, limits] : std::map(named.begin(), named.end())) {
      text(name);
      all(limits);
    }
  }
  void own_limits(const Rule& rule) { all(rule.own_limits()); }
  void schedule(const std::optional<Schedule>& active) {
    number(active.has_value());
    if (!active) return;
    const Schedule::Spec& spec = active->spec();
    number(spec.days);
    number(spec.from.count());
    number(spec.to.count());
    text(spec.zone);
  }

  PackedWriter& bytes() { return bytes_; }

 private:
  void all(std::span<const Quota> limits) {
    number(limits.size());
    for (const Quota& quota : limits) {
      number(quota.algorithm());
      number(quota.limit());
      number(quota.window().count());
      number(quota.algorithm() == Algorithm::kTokenBucket ? quota.capacity() : 0);
    }
  }

  PackedWriter bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  void number(Number& number, std::uint64_t most = kNumberMax) {
    number = static_cast<Number>(bytes_.number(most));
  }
  void text(std::string& text) { text = bytes_.text(kTextMax); }
  template <typename Value, typename Write, typename Read>
  void as_text(Value& value, Write, Read read) {
    auto made = read(bytes_.text(kTextMax));
    bytes_.require(made.has_value());
    if (made) value = *std::move(made);
  }
  template <typename Value, typename Each>
  void list(std::vector<Value>& list, Each each) {
    list = blanks<Value>(bytes_.items());
    for (Value& value : list) each(*this, value);
  }
  template <typename Value, typename Each>
  void optional(std::optional<Value>& value, Each each) {
    if (bytes_.number(1) == 1) each(*this, value.emplace());
  }
  void texts(auto& texts) {
    for (std::size_t left = bytes_.items(); left > 0; --left) texts.emplace(bytes_.text(kTextMax));
  }
  void limits_by_name(Rule::LimitsByName& named) {
    for (std::size_t left = bytes_.items(); left > 0; --left) {
      const std::string name(bytes_.text(kTextMax));
      named[name] = all();
    }
  }
  void own_limits(Rule& rule) {
    rule.limits = all();
    if (!rule.limits.empty()) rule.quota = rule.limits.front();
  }
  void schedule(std::optional<Schedule>& active) {
    if (bytes_.number(1) == 0) return;
    Schedule::Spec spec;
    number(spec.days, 0x7f);
    spec.from = time_of_day();
    spec.to = time_of_day();
    text(spec.zone);
    active = Schedule::make(spec);
    bytes_.require(active.has_value());
  }

  PackedReader& bytes() { return bytes_; }

 private:
  template <typename Value>
  static std::vector<Value> blanks(std::size_t size) {
    const TextPattern nothing{std::string()};
    if constexpr (std::is_same_v<Value, TextPattern>) {
      return std::vector<Value>(size, nothing);
    } else if constexpr (std::is_same_v<Value, PropertyMatch>) {
      return std::vector<Value>(size, {.name = {}, .value = nothing});
    } else {
      return std::vector<Value>(size);
    }
  }

  std::chrono::minutes time_of_day() {
    constexpr std::uint64_t kDay = std::chrono::minutes(std::chrono::hours(24)).count();
    return std::chrono::minutes(bytes_.number(kDay));
  }

  // Returns at least one quota.
  std::vector<Quota> all() {
    std::vector<Quota> limits(bytes_.items());
    bytes_.require(!limits.empty() && limits.size() <= Rule::kLimitsMax);
    for (Quota& limit : limits) {
      QuotaSpec spec;
      number(spec.algorithm, static_cast<std::uint64_t>(kDecidingAlgorithmCount - 1));
      number(spec.limit);
      spec.window = Duration{static_cast<std::int64_t>(bytes_.number(kNumberMax))};
      number(spec.burst);
      const auto made = Quota::make(spec);
      bytes_.require(made.has_value());
      if (made) limit = *made;
    }
    return limits;
  }

  PackedReader bytes_;
};

// ---- what is packed, in its order ----

constexpr std::uint64_t last(auto choice) { return static_cast<std::uint64_t>(choice); }

constexpr auto kText = [](auto& io, auto& text) { io.text(text); };

constexpr auto kPattern = [](auto& io, auto& pattern) {
  io.as_text(
      pattern, [](const TextPattern& it) { return it.text; },
      [](std::string_view text) { return std::optional(TextPattern(std::string(text))); });
};

constexpr auto kNetwork = [](auto& io, auto& network) {
  io.as_text(
      network, [](const IpPrefix& it) { return it.to_string(); },
      [](std::string_view text) { return IpPrefix::parse(text); });
};

constexpr auto kTemplate = [](auto& io, auto& text) {
  io.as_text(
      text, [](const TextTemplate& it) { return it.text(); },
      [](std::string_view written) {
        auto made = TextTemplate::parse(written);
        return made ? std::optional(*std::move(made)) : std::nullopt;
      });
};

constexpr auto kProperty = [](auto& io, auto& property) {
  io.text(property.name);
  kPattern(io, property.value);
};

constexpr auto kPart = [](auto& io, auto& part) {
  io.number(part.property, last(KeyPart::Property::kCookie));
  io.text(part.name);
  io.number(part.v4_bits, 32);
  io.number(part.v6_bits, 128);
};

struct PackMatch {
  std::size_t depth = 0;

  void operator()(auto& io, auto& match) const {
    io.list(match.methods, kText);
    io.list(match.hosts, kPattern);
    io.list(match.paths, kPattern);
    io.number(match.path_case, last(PathCase::kInsensitive));
    io.number(match.trailing_slash, last(TrailingSlash::kSame));
    io.list(match.headers, kProperty);
    io.list(match.parameters, kProperty);
    io.list(match.cookies, kProperty);
    io.list(match.countries, kText);
    io.list(match.clients, kNetwork);
    if (depth == kMatchDepthMax) return;
    for (auto* inner : {&match.all_of, &match.any_of, &match.none_of}) {
      io.list(*inner, PackMatch{.depth = depth + 1});
    }
  }
};

constexpr auto kKeyList = [](auto& io, auto& list) {
  io.texts(list.keys);
  io.list(list.networks, kNetwork);
};

constexpr auto kHeaderTemplate = [](auto& io, auto& header) {
  io.text(header.name);
  kTemplate(io, header.value);
};

constexpr auto kRule = [](auto& io, auto& rule) {
  io.text(rule.id);
  io.text(rule.group);
  io.number(rule.shadow, 1);
  io.number(rule.cost);
  io.own_limits(rule);
  io.optional(rule.match, PackMatch());
  io.list(rule.key_parts, kPart);
  io.number(rule.key_form, last(Rule::KeyForm::kFirst));
  io.number(rule.missing, last(MissingPart::kSkip));
  io.optional(rule.tier, kPart);
  io.limits_by_name(rule.tiers);
  io.limits_by_name(rule.overrides);
  kKeyList(io, rule.allow);
  kKeyList(io, rule.deny);
  io.schedule(rule.active);
  io.number(rule.denial.status, 499);
  io.text(rule.denial.content_type);
  io.optional(rule.denial.body, kTemplate);
  io.list(rule.denial.headers, kHeaderTemplate);
};

}  // namespace

std::string packed_rules(std::span<const Rule> rules) {
  Writer writer;
  writer.bytes().version(kVersion);
  writer.number(rules.size());
  for (const Rule& rule : rules) kRule(writer, rule);
  return writer.bytes().take();
}

std::optional<std::vector<Rule>> unpacked_rules(std::string_view bytes) {
  Reader reader(bytes);
  reader.bytes().version(kVersion);
  std::vector<Rule> rules;
  reader.list(rules, kRule);
  if (!reader.bytes().is_whole()) return std::nullopt;
  return rules;
}

}  // namespace weir
