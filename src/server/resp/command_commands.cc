// COMMAND, and HELP of every container: they show the table, as in Redis.

#include <algorithm>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "server/resp/commands.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

// A name of six bytes may be answered with two thousand.
constexpr std::size_t kNamesMax = 64;
constexpr std::string_view kTooManyNames = "ERR at most 64 names at a time";

bool is_top(const Command& command) { return !command.is_subcommand(); }

std::vector<const Command*> subcommands_of(const Command& container) {
  std::vector<const Command*> found;
  for (const Command& command : commands()) {
    if (container.contains(command)) found.push_back(&command);
  }
  return found;
}

std::size_t top_count() {
  return static_cast<std::size_t>(std::ranges::count_if(commands(), is_top));
}

// "config|get" or "ping".
const Command* find_by_full_name(std::string_view name) {
  const auto found = std::ranges::find_if(
      commands(), [&](const Command& command) { return equal_ignoring_case(command.name, name); });
  return found == commands().end() ? nullptr : &*found;
}

void write_info(ReplyWriter& reply, const Command& command) {
  const auto subcommands = subcommands_of(command);
  reply.array(10);
  reply.bulk(command.name);
  reply.integer(command.arity);
  reply.set(1);
  reply.status("fast");
  for (int i = 0; i < 2; ++i) reply.integer(command.key_at);  // the first and the last key
  reply.integer(command.key_at > 0 ? 1 : 0);                  // the step between them
  reply.set(0);                                               // categories of access control
  reply.array(0);                                             // tips
  reply.array(0);                                             // key specifications
  reply.array(subcommands.size());
  for (const Command* subcommand : subcommands) write_info(reply, *subcommand);
}

// One word of the usage: "key", "[cost]".
struct Argument {
  std::string_view name;
  bool optional = false;
};

std::vector<Argument> arguments_of(const Command& command) {
  std::vector<Argument> arguments;
  bool in_brackets = false;
  for (std::string_view rest = command.usage; !rest.empty();) {
    std::string_view word = take_until(rest, ' ');
    if (word.starts_with('[')) {
      in_brackets = true;
      word.remove_prefix(1);
    }
    const bool optional = in_brackets;
    if (word.ends_with(']')) {
      in_brackets = false;
      word.remove_suffix(1);
    }
    if (word != "...") arguments.push_back({.name = word, .optional = optional});
  }
  return arguments;
}

void write_arguments(ReplyWriter& reply, const std::vector<Argument>& arguments) {
  reply.array(arguments.size());
  for (const Argument& argument : arguments) {
    reply.map(argument.optional ? 3 : 2);
    reply.bulk("name");
    reply.bulk(argument.name);
    reply.bulk("type");
    reply.bulk("string");
    if (!argument.optional) continue;
    reply.bulk("flags");
    reply.set(1);
    reply.status("optional");
  }
}

void write_docs(ReplyWriter& reply, const Command& command) {
  const auto arguments = arguments_of(command);
  const auto subcommands = subcommands_of(command);
  reply.bulk(command.name);
  reply.map(3 + (arguments.empty() ? 0 : 1) + (subcommands.empty() ? 0 : 1));
  reply.bulk("summary");
  reply.bulk(command.summary);
  reply.bulk("since");
  reply.bulk("1.0.0");
  reply.bulk("group");
  reply.bulk(command.key_at > 0 ? "generic" : "connection");
  if (!arguments.empty()) {
    reply.bulk("arguments");
    write_arguments(reply, arguments);
  }
  if (subcommands.empty()) return;
  reply.bulk("subcommands");
  reply.map(subcommands.size());
  for (const Command* subcommand : subcommands) write_docs(reply, *subcommand);
}

void write_all_info(ReplyWriter& reply) {
  reply.array(top_count());
  for (const Command& command : commands()) {
    if (is_top(command)) write_info(reply, command);
  }
}

}  // namespace

void handle_command(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  write_all_info(reply);
}

void handle_command_count(RespCore& core, RespRequest& request) {
  core.reply(request).integer(static_cast<std::int64_t>(top_count()));
}

void handle_command_docs(RespCore& core, RespRequest& request) {
  std::vector<const Command*> wanted;
  const auto names = request.arguments.subspan(2);
  if (names.size() > kNamesMax) return core.reply(request).error(kTooManyNames);
  for (const std::string_view name : names) {
    if (const Command* const command = find_by_full_name(name)) wanted.push_back(command);
  }
  if (names.empty()) {
    for (const Command& command : commands()) {
      if (is_top(command)) wanted.push_back(&command);
    }
  }
  auto reply = core.reply(request);
  reply.map(wanted.size());
  for (const Command* command : wanted) write_docs(reply, *command);
}

void handle_command_info(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  const auto names = request.arguments.subspan(2);
  if (names.empty()) return write_all_info(reply);
  if (names.size() > kNamesMax) return reply.error(kTooManyNames);
  reply.array(names.size());
  for (const std::string_view name : names) {
    if (const Command* const command = find_by_full_name(name)) {
      write_info(reply, *command);
    } else {
      reply.null();
    }
  }
}

void handle_command_list(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  reply.array(top_count());
  for (const Command& command : commands()) {
    if (is_top(command)) reply.bulk(command.name);
  }
}

void handle_help(RespCore& core, RespRequest& request) {
  const Lookup found = find_command(request.arguments);
  const auto subcommands = subcommands_of(*found.container);
  auto reply = core.reply(request);
  reply.array(2 * subcommands.size());
  for (const Command* subcommand : subcommands) {
    reply.status(std::string(subcommand->last_word()) + " " + std::string(subcommand->usage));
    reply.status("    " + std::string(subcommand->summary) + ".");
  }
}

}  // namespace weir::resp
