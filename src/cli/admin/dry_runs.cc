// weir validate --against: how a file of rules would have decided otherwise, by a running server's
// memory.

#include <boost/json.hpp>
#include <iostream>
#include <string>

#include "cli/admin/admin_client.h"
#include "cli/check_options.h"
#include "cli/commands.h"
#include "rulebook/rule_text.h"

namespace weir {
namespace {

namespace json = boost::json;

// Numbers of a run, for all keys. A remembered key may stand for several others.
class Figures {
 public:
  explicit Figures(const json::value& run)
      : one_of_(run.at("one_key_of").to_number<std::size_t>()) {}

  std::string source() const {
    return one_of_ == 1 ? "every key is remembered"
                        : "estimated by 1 of " + std::to_string(one_of_) + " keys";
  }
  std::string of(const json::value& count, std::string_view what) const {
    return about_ + count_of(one_of_ * count.to_number<std::size_t>(), what);
  }
  std::string of(const json::value& counts) const {
    return of(counts.at("requests"), "request") + " of " + of(counts.at("keys"), "key");
  }

 private:
  const std::size_t one_of_;
  const std::string about_ = one_of_ == 1 ? "" : "about ";
};

std::string lines_of(const json::value& run) {
  const auto line = "rule '" + text_of(run.at("rule")) + "': ";
  if (const auto* why = run.as_object().if_contains("unknown")) {
    return line + "not known. " + sentence_of(*why) + "\n";
  }
  const auto& wanted = run.at("wanted");
  const auto& spared = wanted.at("spared");
  const bool spares = spared.at("requests").to_number<std::size_t>() > 0;
  const Figures figures(run);
  return line + "would have denied " + figures.of(wanted.at("denied")) + " out of " +
         figures.of(run.at("asked")) + ", in the last " +
         in_words(run.at("seconds").to_number<double>()) + " (" + figures.source() +
         ")\n  newly denied: " + figures.of(run.at("newly_denied")) +
         "; newly allowed: " + figures.of(run.at("newly_allowed")) +
         (spares
              ? "\n  would be denied, but pass in shadow or outside enforce: " + figures.of(spared)
              : "") +
         "\n  of those over the limit an exact log would have allowed " +
         figures.of(wanted.at("too_early"), "request") + "\n";
}

}  // namespace

std::string dry_runs_in_words(const json::value& said) {
  std::string lines;
  for (const auto& found : said.at("problems").as_array()) {
    if (!found.at("warning").as_bool()) lines += sentence_of(found.at("text")) + "\n";
  }
  for (const auto& run : said.at("dry_runs").as_array()) lines += lines_of(run);
  for (const auto& change : said.at("changes").as_array()) {
    const std::string text = text_of(change);
    const bool has_no_run = text.starts_with("removed ") || text.starts_with("reordered: ");
    if (has_no_run) lines += text + "\n";
  }
  return lines.empty() ? "no rule is another than those in force\n" : lines;
}

void print_dry_runs(const std::string& file, const std::string& server, const std::string& over) {
  const auto text = value_or_refuse(read_config_file(file), std::cout);
  const AdminClient client{.command = "validate", .server = server};
  client.show(
      {.url = "/admin/rules/validate?dry_run=" + escaped(over), .method = "POST", .body = text},
      dry_runs_in_words);
}

}  // namespace weir
