// The commands of the Redis door: one table, which is also what COMMAND tells clients.
//
// A subcommand ("client|setname") is a command of its own, as in Redis.
//
// Thread rule: constant. Tested by resp_commands_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/resp/resp_core.h"

namespace weir::resp {

enum class CommandKind : std::uint8_t {
  kPlain,
  kContainer,   // of subcommands; its own handler, if any, is for the bare name
  kSubcommand,  // behind its container in the table
};

struct Command {
  CommandKind kind = CommandKind::kPlain;
  std::string_view container;  // of a subcommand
  std::string_view name;       // in lower case
  int arity = 0;               // as in Redis: arguments, names included; negative: at least
  std::string_view usage;      // the arguments; "[optional]", "..." for more of the same
  std::string_view summary;
  Trust needs = Trust::kUser;
  int key_at = 0;  // which argument is the key; 0 if none
  void (*handle)(RespCore& core, RespRequest& request) = nullptr;
};

// Hot ones first; subcommands behind their container.
std::span<const Command> commands();

struct Lookup {
  const Command* command = nullptr;
  const Command* container = nullptr;  // found, but not the subcommand
};

// By the first argument, or the first two; in either case.
Lookup find_command(std::span<const std::string_view> arguments);

// "client|setname"
std::string full_name(const Command& command);

inline bool takes(const Command& command, std::size_t arguments) {
  const auto count = static_cast<int>(arguments);
  return command.arity >= 0 ? count == command.arity : count >= -command.arity;
}

void refuse_unknown(RespCore& core, const RespRequest& request, const Lookup& found);
void refuse_access(RespCore& core, const RespRequest& request, const Command& command);

// A decimal number with an optional sign, all of int64, as redis-cell reads it.
bool read_integer(std::string_view text, std::int64_t& number);

}  // namespace weir::resp
