// weir validate --against: what a file of rules would have decided otherwise, by what a running
// server remembers.

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

std::string counts_of(const json::value& counts) {
  const auto count = [&](const char* name) { return counts.at(name).to_number<std::size_t>(); };
  return count_of(count("requests"), "request") + " of " + count_of(count("keys"), "key");
}

std::string lines_of(const json::value& run) {
  const auto line = "rule '" + text_of(run.at("rule")) + "': ";
  if (const auto* why = run.as_object().if_contains("unknown")) {
    return line + "not known. " + sentence_of(*why) + "\n";
  }
  const auto& wanted = run.at("wanted");
  const auto& spared = wanted.at("spared");
  const bool spares = spared.at("requests").to_number<std::size_t>() > 0;
  return line + "would have denied " + counts_of(wanted.at("denied")) + " out of " +
         counts_of(run.at("asked")) + ", in the last " +
         in_words(run.at("seconds").to_number<double>()) + " (1 of " +
         text_of(run.at("one_key_of")) +
         " keys remembered)\n  newly denied: " + counts_of(run.at("newly_denied")) +
         "; newly allowed: " + counts_of(run.at("newly_allowed")) +
         (spares
              ? "\n  would be denied, but pass in shadow or outside enforce: " + counts_of(spared)
              : "") +
         "\n  an exact log would have allowed " + text_of(wanted.at("too_early")) +
         " of those over the limit\n";
}

}  // namespace

std::string dry_runs_in_words(const json::value& said) {
  std::string lines;
  for (const auto& found : said.at("problems").as_array()) {
    if (!found.at("warning").as_bool()) lines += sentence_of(found.at("text")) + "\n";
  }
  for (const auto& run : said.at("dry_runs").as_array()) lines += lines_of(run);
  for (const auto& change : said.at("changes").as_array()) {
    const bool is_removal = text_of(change).starts_with("removed ");  // which no run is about
    if (is_removal) lines += text_of(change) + "\n";
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
