// INFO and CONFIG GET: clients ask for these before they trust a server.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/ascii.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

struct Section {
  std::string_view name;
  void (*write)(RespCore& core, Instant now, std::string& text);
};

template <typename Number>
void add(std::string& text, std::string_view name, Number value) {
  text.append(name).append(":").append(std::to_string(value)).append("\r\n");
}

void write_server(RespCore& core, Instant now, std::string& text) {
  const auto uptime =
      std::chrono::floor<std::chrono::seconds>(now - core.node().options().started).count();
  text.append("redis_version:").append(kRedisVersion).append("\r\n");
  text.append("weir_version:").append(core.node().options().version).append("\r\n");
  text.append("redis_mode:standalone\r\n");
  add(text, "uptime_in_seconds", uptime);
  add(text, "uptime_in_days", uptime / (24 * 3600));
}

void write_clients(RespCore& core, Instant, std::string& text) {
  const auto counts = core.node().counts().sum();
  add(text, "connected_clients", counts[kRespOpened] - counts[kRespClosed]);
}

// Clients wait until a server has loaded its data. Weir has none to load.
void write_persistence(RespCore&, Instant, std::string& text) { add(text, "loading", 0); }

void write_stats(RespCore& core, Instant now, std::string& text) {
  const auto counts = core.node().counts().sum();
  const auto traffic = core.node().traffic().summary(now);
  add(text, "total_connections_received", counts[kRespOpened]);
  add(text, "total_commands_processed", counts[kRespCommands]);
  add(text, "decisions_per_sec", std::llround(traffic.requests_per_second));
  add(text, "decisions_allowed", traffic.total_allowed());
  add(text, "decisions_denied", traffic.total_denied());
  add(text, "looks", traffic.looks);
  add(text, "store_errors", traffic.store_errors);
}

void write_replication(RespCore&, Instant, std::string& text) { text.append("role:master\r\n"); }

// Weir keeps no keys here, only their hashes.
void write_keyspace(RespCore&, Instant, std::string&) {}

constexpr std::array<Section, 6> kSections = {{{"Server", write_server},
                                               {"Clients", write_clients},
                                               {"Persistence", write_persistence},
                                               {"Stats", write_stats},
                                               {"Replication", write_replication},
                                               {"Keyspace", write_keyspace}}};

bool is_wanted(const Section& section, std::span<const std::string_view> wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](std::string_view name) {
           return equal_ignoring_case(name, section.name) || equal_ignoring_case(name, "all") ||
                  equal_ignoring_case(name, "default") || equal_ignoring_case(name, "everything");
         });
}

struct Setting {
  std::string_view name;
  std::string_view value;
};

// Settings that some clients ask for.
constexpr std::array<Setting, 4> kSettings = {
    {{"appendonly", "no"}, {"databases", "1"}, {"save", ""}, {"timeout", "600"}}};

// "*" for any letters, "?" for one.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t in_name = 0;
  std::size_t star = std::string_view::npos;  // the last one, and where its letters end
  std::size_t star_end = 0;
  while (in_name < name.size()) {
    const bool fits = at < pattern.size() && pattern[at] != '*' &&
                      (pattern[at] == '?' || ascii_lower(pattern[at]) == name[in_name]);
    if (fits) {
      ++at;
      ++in_name;
    } else if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      star_end = in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

void handle_info(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  const auto wanted = request.arguments.subspan(1);
  std::string text;
  for (const Section& section : kSections) {
    if (!is_wanted(section, wanted)) continue;
    if (!text.empty()) text.append("\r\n");
    text.append("# ").append(section.name).append("\r\n");
    section.write(core, request.now, text);
  }
  reply.verbatim(text);
}

void handle_config_get(RespCore& core, RespRequest& request) {
  const auto patterns = request.arguments.subspan(2);
  const auto is_wanted_setting = [&](const Setting& setting) {
    return std::ranges::any_of(
        patterns, [&](std::string_view pattern) { return matches(pattern, setting.name); });
  };
  auto reply = core.reply(request);
  const auto count = std::ranges::count_if(kSettings, is_wanted_setting);
  reply.map(static_cast<std::size_t>(count));
  for (const Setting& setting : kSettings) {
    if (!is_wanted_setting(setting)) continue;
    reply.bulk(setting.name);
    reply.bulk(setting.value);
  }
}

}  // namespace weir::resp
