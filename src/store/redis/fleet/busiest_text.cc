#include "store/redis/fleet/busiest_text.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/length_prefix.h"
#include "observe/keys/busiest_keys.h"

namespace weir {
namespace {

constexpr std::string_view kStart = "weir busiest 1 ";
constexpr std::string_view kEnd = "\n";
constexpr std::size_t kRuleIdMax = 256;
constexpr std::uint64_t kCountMax = std::uint64_t{1} << 53;
constexpr std::uint64_t kWeightMax = std::uint64_t{1} << 16;

// ---- writing ----

void append(std::uint64_t number, std::string& text) {
  text.append(std::to_string(number)).append(" ");
}

// While a core counts, a report may say more of a key than of all.
void append(const KeyReport& report, std::string& text) {
  const std::uint64_t total = std::min(report.total, kCountMax);
  append(total, text);
  append(std::min(report.rest, total), text);
  append(std::clamp<std::uint64_t>(report.weight, 1, kWeightMax), text);
  append(report.keys.size(), text);
  for (const KeyEstimate& key : report.keys) {
    const std::uint64_t high = std::min(key.high, total);
    append(key.hash, text);
    append(std::min(key.low, high), text);
    append(high, text);
    append_with_length(text, key.text);
    text += ' ';
  }
}

// ---- reading ----

// Takes one value after the other from the front; after the first that is none, nothing.
class Values {
 public:
  explicit Values(std::string_view text) : rest_(text) {}

  // 0 if there is none, or it is above `most`.
  std::uint64_t number(std::uint64_t most) {
    const auto number = read_decimal<std::uint64_t>(take_until(rest_, ' '));
    if (!number || *number > most) is_good_ = false;
    return is_good_ ? *number : 0;
  }
  std::string text(std::size_t most) {
    const auto size = read_decimal<std::size_t>(take_until(rest_, ':'));
    if (!size || *size > most || rest_.size() <= *size || rest_[*size] != ' ') is_good_ = false;
    if (!is_good_) return {};
    std::string text(rest_.substr(0, *size));
    rest_.remove_prefix(*size + 1);
    return text;
  }
  void refuse() { is_good_ = false; }

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return rest_ == kEnd; }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

KeyReport report_in(Values& values) {
  KeyReport report;
  report.total = values.number(kCountMax);
  report.rest = values.number(report.total);
  report.weight = values.number(kWeightMax);
  const std::uint64_t keys = values.number(kBusiestKeysMax);
  if (report.weight == 0) values.refuse();
  for (std::uint64_t i = 0; i < keys && values.is_good(); ++i) {
    KeyEstimate key{.hash = values.number(UINT64_MAX)};
    key.low = values.number(report.total);
    key.high = values.number(report.total);
    key.text = values.text(KeyText::kBytesMax);
    const bool is_in_order = report.keys.empty() || report.keys.back().hash < key.hash;
    if (key.hash == 0 || key.low > key.high || !is_in_order) values.refuse();
    report.keys.push_back(std::move(key));
  }
  return report;
}

}  // namespace

std::string to_text(std::span<const RuleKeys> rules) {
  std::string text(kStart);
  for (const RuleKeys& keys : rules.first(std::min(rules.size(), kBusiestRulesMax))) {
    std::string one;
    append_with_length(one, keys.rule);
    one += ' ';
    append(keys.asked, one);
    append(keys.denied, one);
    const bool fits = text.size() + one.size() + kEnd.size() <= kBusiestTextMax;
    if (fits && keys.rule.size() <= kRuleIdMax) text += one;
  }
  return text.append(kEnd);
}

std::optional<std::vector<RuleKeys>> rule_keys_from_text(std::string_view text) {
  if (text.size() > kBusiestTextMax || !text.starts_with(kStart)) return std::nullopt;
  Values values(text.substr(kStart.size()));
  std::vector<RuleKeys> rules;
  while (!values.is_at_end()) {
    RuleKeys keys{.rule = values.text(kRuleIdMax)};
    keys.asked = report_in(values);
    keys.denied = report_in(values);
    if (!values.is_good() || rules.size() == kBusiestRulesMax) return std::nullopt;
    rules.push_back(std::move(keys));
  }
  return rules;
}

}  // namespace weir
