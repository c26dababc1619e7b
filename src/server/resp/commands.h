// The commands of the Redis door: one table, which COMMAND also shows to clients.
//
// A subcommand ("client|setname") is a command of its own, as in Redis.
//
// Thread rule: constant. Tested by resp_commands_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/resp/resp_core.h"

namespace weir::resp {

// Between MULTI and EXEC.
enum class InMulti : std::uint8_t { kQueued, kAtOnce };

struct Command {
  std::string_view name;   // in lower case; a subcommand's follows its container's
  int arity;               // as in Redis: arguments, names included; negative: at least
  std::string_view usage;  // the arguments; "[optional]", "..." for more of the same
  std::string_view summary;
  void (*handle)(RespCore& core, RespRequest& request);
  int key_at = 0;  // which argument is the key; 0 if none
  Trust needs = Trust::kUser;
  // The handler, if any, is then for the bare name.
  bool has_subcommands = false;
  InMulti in_multi = InMulti::kQueued;

  constexpr bool is_subcommand() const { return name.find('|') != std::string_view::npos; }
  // Without the container's name.
  constexpr std::string_view last_word() const { return name.substr(name.find('|') + 1); }
  constexpr bool contains(const Command& other) const {
    return other.name.starts_with(name) && other.name.substr(name.size()).starts_with('|');
  }
};

// Hot ones first; subcommands behind their container.
std::span<const Command> commands();

struct Lookup {
  const Command* command = nullptr;
  const Command* container = nullptr;  // found, but not the subcommand
};

// Finds the first argument, or the first two, in any case of letters.
Lookup find_command(std::span<const std::string_view> arguments);

inline bool takes(const Command& command, std::size_t arguments) {
  const auto count = static_cast<int>(arguments);
  return command.arity >= 0 ? count == command.arity : count >= -command.arity;
}

// Why no client, or not this one, can say this; nullopt if it may be carried out.
std::optional<std::string> refusal(RespCore& core, const RespRequest& request, const Lookup& found);
// Answers with the error. Between MULTI and EXEC, EXEC will then refuse.
void refuse(RespCore& core, const RespRequest& request, const Lookup& found,
            std::string_view error);

// Between MULTI and EXEC: answers that the command is queued, or its mistake.
void queue_command(RespCore& core, const RespRequest& request, const Command& command);

// A decimal number with an optional sign, all of int64, as redis-cell reads it.
bool read_integer(std::string_view text, std::int64_t& number);

}  // namespace weir::resp
