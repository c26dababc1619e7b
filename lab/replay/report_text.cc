#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ostr.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>

#include "replay/report.h"

namespace weir::lab {
namespace {

namespace json = boost::json;

constexpr std::size_t kWorstPrinted = 3;

std::string_view text(const json::object& object, std::string_view name) {
  return object.at(name).as_string();
}

std::uint64_t number(const json::object& object, std::string_view name) {
  return object.at(name).to_number<std::uint64_t>();
}

// 1,234,567
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string grouped(const json::object& object, std::string_view name) {
  return grouped(number(object, name));
}

// "1 line", "2 lines".
std::string counted(const json::object& object, std::string_view name, std::string_view what) {
  return fmt::format("{} {}{}", grouped(object, name), what, number(object, name) == 1 ? "" : "s");
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string bars(const json::array& counts) {
  constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kColumns = 60;
  const std::size_t each = (counts.size() + kColumns - 1) / kColumns;
  std::vector<std::uint64_t> sums(each == 0 ? 0 : (counts.size() + each - 1) / each);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sums[i / each] += counts[i].to_number<std::uint64_t>();
  }
  const std::uint64_t most = sums.empty() ? 0 : std::ranges::max(sums);
  std::string line;
  for (const std::uint64_t sum : sums) line += kBars[sum == 0 ? 0 : 1 + (7 * sum) / most];
  return line;
}

void print_log(const json::object& log, std::ostream& out) {
  fmt::print(out, "{} ({}), {} to {} UTC", counted(log, "lines", "line"), text(log, "format"),
             text(log, "first"), text(log, "last"));
  if (log.at("whole_seconds").as_bool()) out << ", times of whole seconds";
  out << '\n';
  for (const auto& fault : log.at("faults").as_array()) {
    fmt::print(out, "  {}; what came before counts\n", std::string_view(fault.as_string()));
  }
  if (number(log, "late") > 0) {
    fmt::print(out, "  too late to be sorted, and left out: {}\n", counted(log, "late", "line"));
  }
  if (number(log, "named_clients") > 0) {
    fmt::print(out, "  {} of clients with names: each counts by its name, and no network has it\n",
               counted(log, "named_clients", "request"));
  }
  if (number(log, "unread") == 0) return;
  fmt::print(out, "  {} could not be read; the first:\n", counted(log, "unread", "line"));
  for (const auto& each : log.at("unread_lines").as_array()) {
    const json::object& line = each.as_object();
    fmt::print(out, "    {}:{}: {}: {}\n", text(line, "file"), number(line, "line"),
               text(line, "reason"), text(line, "beginning"));
  }
}

void print_keys(const json::array& keys, std::ostream& out) {
  for (std::size_t i = 0; i < std::min(kWorstPrinted, keys.size()); ++i) {
    const json::object& key = keys[i].as_object();
    const json::object& burst = key.at("burst").as_object();
    const std::uint64_t spared = number(key, "would_be_denied");
    fmt::print(out, "    {}: {} of {} requests {}denied, the first at {}, after {} in {:.6g} s\n",
               text(key, "key"), grouped(number(key, "denied") + spared), grouped(key, "requests"),
               spared > 0 ? "would be " : "", text(key, "first_denied"), number(burst, "requests"),
               burst.at("seconds").to_number<double>());
  }
  if (keys.size() > kWorstPrinted) out << "    ...\n";
}

std::string enforced_text(const json::object& rule) {
  const std::uint64_t percent = number(rule, "enforce_percent");
  if (percent == 100) return {};
  return percent == 0 ? "   (in shadow)" : fmt::format("   (enforce: {}%)", percent);
}

void print_rule(const json::object& rule, std::size_t width, std::ostream& out) {
  const json::object& exact = rule.at("exact").as_object();
  fmt::print(out, "  {:<{}} {:>12} {:>10} {:>8} {:>9} {:>9}   {} too early, {} too late{}\n",
             text(rule, "id"), width, grouped(rule, "requests"), grouped(rule, "denied"),
             percent(rule.at("share").to_number<double>()), grouped(rule, "keys"),
             grouped(rule, "denied_keys"), grouped(exact, "too_early"), grouped(exact, "too_late"),
             enforced_text(rule));
  const std::uint64_t spared = number(rule, "would_be_denied");
  if (spared > 0) {
    fmt::print(out, "    would be denied: {} of {}\n", counted(rule, "would_be_denied", "request"),
               counted(rule, "would_be_denied_keys", "key"));
  }
  if (number(rule, "denied") + spared == 0) return;
  print_keys(rule.at("worst").as_array(), out);
  fmt::print(out, "    [{}]\n", bars(rule.at("chart").as_array()));
}

void print_world(const json::object& world, std::ostream& out) {
  const json::array& rules = world.at("rules").as_array();
  fmt::print(out, "\n{}: {} of {} requests denied ({}), {} of {} keys{}\n", text(world, "file"),
             grouped(world, "denied"), grouped(world, "requests"),
             percent(world.at("share").to_number<double>()), grouped(world, "denied_keys"),
             grouped(world, "keys"), rules.size() > 1 ? ", each counted once a rule" : "");
  if (number(world, "refused") > 0) {
    fmt::print(out,
               "  {} of them refused: their paths have too many readings, or a header repeats\n",
               grouped(world, "refused"));
  }
  if (number(world, "beyond") + number(world, "evictions") > 0) {
    fmt::print(out, "  too many keys for memory: {} asks of keys not told apart, {} forgotten\n",
               grouped(world, "beyond"), grouped(world, "evictions"));
  }
  if (number(world, "short_of_room") > 0) {
    fmt::print(out, "  too many requests for memory: exact logs of {} asks may deny too early\n",
               grouped(world, "short_of_room"));
  }
  for (const auto& each : world.at("left_out").as_array()) {
    const json::object& rule = each.as_object();
    fmt::print(out, "  {} is left out: {}\n", text(rule, "id"), text(rule, "reason"));
  }
  if (rules.empty()) return;
  std::size_t width = 4;
  for (const auto& rule : rules) width = std::max(width, text(rule.as_object(), "id").size());
  fmt::print(out, "\n  {:<{}} {:>12} {:>10} {:>8} {:>9} {:>9}   {}\n", "rule", width, "requests",
             "denied", "share", "keys", "denied", "against an exact log");
  for (const auto& rule : rules) print_rule(rule.as_object(), width, out);
}

void print_change(std::string_view what, const json::object& change, std::ostream& out) {
  const json::object& keys = change.at("keys").as_object();
  fmt::print(out, "  {}: {}, {}\n", what, counted(change, "requests", "request"),
             counted(keys, "count", "key"));
  print_keys(keys.at("worst").as_array(), out);
  for (const auto& each : change.at("examples").as_array()) {
    const json::object& example = each.as_object();
    fmt::print(out, "    {} {} {} by {}\n", text(example, "time"), text(example, "client"),
               text(example, "request"), text(example, "rule"));
  }
}

}  // namespace

void print_report(const json::object& report, std::ostream& out) {
  print_log(report.at("log").as_object(), out);
  print_world(report.at("rules").as_object(), out);
  if (!report.contains("against")) return;
  print_world(report.at("against").as_object(), out);
  const json::object& change = report.at("change").as_object();
  fmt::print(out, "\n{} instead of {}:\n", text(report.at("against").as_object(), "file"),
             text(report.at("rules").as_object(), "file"));
  print_change("newly denied", change.at("newly_denied").as_object(), out);
  print_change("newly allowed", change.at("newly_allowed").as_object(), out);
}

}  // namespace weir::lab
