#include "cli/node/rule_probe.h"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/ascii.h"

namespace weir {
namespace {

// The rule is an item of a list: its first line is behind a dash, the others below it.
constexpr std::string_view kDash = "- ";
constexpr std::string_view kIndent = "  ";

}  // namespace

RuleProbe::RuleProbe(const std::string& others, std::string_view rule) {
  const auto parsed = boost::json::parse(others);
  for (const auto& field : parsed.as_object()) {
    text_ += boost::json::serialize(boost::json::string(field.key())) + ": " +
             boost::json::serialize(field.value()) + "\n";
    ++lines_before_;
  }
  text_ += "rules:\n";
  ++lines_before_;
  std::string_view start = kDash;
  do {
    text_.append(start).append(take_until(rule, '\n')) += '\n';
    start = kIndent;
  } while (!rule.empty());
}

ConfigErrors RuleProbe::as_written(ConfigErrors errors) const {
  for (auto& error : errors) {
    error.line -= std::min(error.line, lines_before_);
    error.column -= std::min(error.column, kIndent.size());
    error.line = std::max<std::size_t>(error.line, 1);
    error.column = std::max<std::size_t>(error.column, 1);
  }
  return errors;
}

}  // namespace weir
