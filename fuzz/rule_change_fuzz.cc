// Feeds a configuration and a rule, parted by a zero byte, to those who change rules. A rule
// that is accepted is in force as it was sent, and so is the file that it is written to;
// nothing else in there has changed. It may be sent again as a patch, and comes from another node.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "config/config.h"
#include "config/rules/rule_sources.h"
#include "rulebook/rulebook.h"
#include "rulebook/rules_by_hand.h"

namespace weir {
namespace {

using enum ChangeOutcome;

constexpr std::string_view kId = "r";

// Without a file.
class Desk {
 public:
  explicit Desk(Config config) { book_.load(std::move(config), Instant()); }

  RuleReply put(std::string_view rule) {
    return book_.change({.id = std::string(kId), .text = std::string(rule)}, Instant());
  }

  RuleReply patch(std::string_view fields) {
    return book_.change(
        {.kind = RuleChange::Kind::kPatch, .id = std::string(kId), .text = std::string(fields)},
        Instant());
  }

  // As what another node, or anybody who writes in its Redis, says.
  void follow(std::string_view by_hand) try {
    book_.follow(by_hand, RuleAuthors::kOne, Instant());
  } catch (const RuleRefusal& refusal) {
    WEIR_ASSERT(!refusal.detail.empty());
  }

  // The rule as it is in force; nothing if it is not.
  std::optional<RuleSource> rule() const {
    const auto view = book_.view();
    for (const RuleView& rule : view->rules) {
      if (rule.id == kId) return RuleSource{.id = rule.id, .json = rule.json};
    }
    return std::nullopt;
  }

 private:
  Rulebook book_{"",
                 [](std::vector<Rule> rules, RequestSources) {
                   return std::make_shared<const RuleSet>(std::move(rules));
                 },
                 [] {}};
};

void check_edit(std::string_view text, const RuleSource& rule) {
  const auto edited = edit_rule(text, {.id = rule.id, .json = rule.json});
  if (!edited) {
    WEIR_ASSERT(!edited.error().message.empty());
    return;
  }
  const auto& result = *edited;
  WEIR_ASSERT(parse_config(result, "edited.yaml").has_value());
  const auto before = config_sources(text);
  const auto after = config_sources(result);
  WEIR_ASSERT(after.others == before.others);
  const auto is_there = [&](const RuleSource& other) {
    return std::ranges::count(after.rules, other) == 1;
  };
  WEIR_ASSERT(is_there(rule));
  for (const RuleSource& other : before.rules) {
    WEIR_ASSERT(other.id == rule.id || is_there(other));
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view both(reinterpret_cast<const char*>(data), size);
  const auto end = std::min(both.find('\0'), both.size());
  const std::string_view text = both.substr(0, end);
  const std::string_view body = both.substr(std::min(end + 1, both.size()));
  auto parsed = parse_config(text, "fuzz.yaml");
  if (!parsed.has_value()) return 0;
  const auto in_file = config_sources(text).rules;
  Desk follower(*parsed);
  follower.follow(body);
  follower.follow(to_bytes({.files = RuleFiles::of(in_file)}, in_file,
                           {{{.id = std::string(kId), .json = std::string(body)}}}));
  Desk desk(*std::move(parsed));
  const auto reply = desk.put(body);
  if (is_refusal(reply.outcome)) {
    WEIR_ASSERT(reply.outcome == kMalformed || reply.outcome == kConflict);
    WEIR_ASSERT(!reply.detail.empty());
    return 0;
  }
  const auto rule = desk.rule();
  WEIR_ASSERT(rule);
  check_edit(text, *rule);
  // A rule laid over itself stays as it is, but for what says null.
  const auto patched = desk.patch(rule->json);
  WEIR_ASSERT(patched.outcome == kDone || patched.outcome == kMalformed ||
              patched.outcome == kConflict);
  return 0;
}
