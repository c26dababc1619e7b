#include "rulebook/rule_replacement.h"

#include <re2/re2.h>

#include <array>
#include <boost/json/parse.hpp>
#include <string_view>

#include "base/nearest_name.h"
#include "config/yaml/yaml_document.h"
#include "proto/repeated_name.h"
#include "rulebook/rule_desk.h"

namespace weir {
namespace {

using enum ChangeOutcome;

// As RFC 7396 has it. A patch is as deep as boost::json reads, which is bounded.
void merge(boost::json::value& target, const boost::json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  auto& fields = target.as_object();
  for (const auto& [name, value] : patch.as_object()) {
    if (value.is_null()) {
      fields.stable_erase(name);
    } else {
      merge(fields[name], value);
    }
  }
}

// What makes a rule apply without being named.
constexpr std::array<std::string_view, 2> kEnforcing = {"match", "descriptor"};

// A rule before and after it is replaced by another as a whole.
class Replacement {
 public:
  Replacement(const RuleSource& known, const RuleSource& wanted)
      : before_(boost::json::parse(known.json)), after_(boost::json::parse(wanted.json)) {}

  bool drops(std::string_view field) const { return has(before_, field) && !has(after_, field); }

 private:
  static bool has(const boost::json::value& rule, std::string_view field) {
    const auto* const value = rule.as_object().if_contains(field);
    return value != nullptr && !value->is_null();
  }

  boost::json::value before_;
  boost::json::value after_;
};

// Somebody who sends a rule without its match hardly means that it applies to nothing from now on.
void refuse_to_disarm(const RuleSource& known, const Replacement& replacement) {
  for (const std::string_view field : kEnforcing) {
    if (!replacement.drops(field)) continue;
    const auto name = std::string(field);
    throw RuleRefusal{
        kConflict, "Rule '" + known.id + "' has '" + name +
                       "' and the body has none: the rule would no longer apply by itself. " +
                       "Send '" + name + "' along, or PATCH what is to change alone, such as " +
                       R"({"limit":20}. To drop ')" + name + "', PATCH {\"" + name + "\":null}."};
  }
}

// Puts numbers in quotes that Boost.JSON would write otherwise, as the JSON of a configuration has
// them: the `2.0` of a header stays what it is. REQUIRES: `json` is JSON
std::string with_numbers_as_written(re2::StringPiece json) {
  static const re2::RE2 kScalar(R"re(([^"\d-]*)("(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*))re");
  std::string text;
  std::string between;
  std::string scalar;
  while (re2::RE2::Consume(&json, kScalar, &between, &scalar)) {
    const bool is_kept = scalar.starts_with('"') || is_json_scalar(scalar);
    text += between + (is_kept ? scalar : '"' + scalar + '"');
  }
  return text.append(json);
}

}  // namespace

std::string patched(const std::string& rule_json, const std::string& patch_json) {
  boost::json::error_code error;
  const auto patch = boost::json::parse(patch_json, error);
  if (error || !patch.is_object() || patch.as_object().empty()) {
    throw RuleRefusal{kMalformed,
                      "The body must be a JSON object of the fields that change, such as "
                      R"({"limit":20}; null drops a field.)"};
  }
  const auto as_written = with_numbers_as_written(patch_json);
  if (const auto name = repeated_name(as_written)) {
    throw RuleRefusal{kMalformed,
                      std::string(shown_name(*name)) + ": expected the field only once"};
  }
  auto rule = boost::json::parse(rule_json);
  merge(rule, boost::json::parse(as_written));
  return to_json(rule);
}

// That all clients share one counter may be right.
std::vector<std::string> replacement_warnings(const RuleSource& known, const RuleSource& wanted) {
  const auto replacement = Replacement(known, wanted);
  refuse_to_disarm(known, replacement);
  if (!replacement.drops("key")) return {};
  return {
      "the rule had a 'key' and has none now, so that all clients share one counter; send "
      R"('key' along, or PATCH what is to change alone, such as {"limit":20})"};
}

}  // namespace weir
