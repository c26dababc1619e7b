#include "server/resp/commands.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

using enum CommandKind;
constexpr auto kFirst = Trust::kStranger;  // may be said before anything else
constexpr auto kUser = Trust::kUser;
constexpr auto kAdmin = Trust::kAdmin;

constexpr std::string_view kThrottleUsage = "key max_burst count period [quantity]";
constexpr std::string_view kHelp = "Lists the subcommands";

constexpr std::array kCommands = {
    Command{kPlain,
            {},
            "cl.throttle",
            -1,
            kThrottleUsage,
            "Spends from the key's token bucket, as redis-cell does",
            kUser,
            1,
            handle_cl_throttle},
    Command{kPlain,
            {},
            "weir.hit",
            -3,
            "rule key [cost]",
            "Spends from the key's quota of a configured rule",
            kUser,
            2,
            handle_hit},
    Command{kPlain,
            {},
            "weir.mhit",
            -5,
            "ALL|EACH rule key cost ...",
            "Spends from up to 16 keys: all or nothing, or each for itself",
            kUser,
            3,
            handle_hit_many},
    Command{kPlain,
            {},
            "weir.look",
            -3,
            "rule key [cost]",
            "What WEIR.HIT would answer; spends nothing",
            kUser,
            2,
            handle_look},
    Command{kPlain,
            {},
            "weir.reset",
            3,
            "rule key",
            "Forgets what a key has spent",
            kAdmin,
            2,
            handle_reset_key},
    Command{kPlain,
            {},
            "throttle",
            -5,
            kThrottleUsage,
            "Spends from the key's token bucket, as throttlecrab does",
            kUser,
            1,
            handle_throttle},
    Command{
        kPlain, {}, "ping", -1, "[message]", "Answers PONG, or the message", kUser, 0, handle_ping},
    Command{kPlain, {}, "echo", 2, "message", "Answers the message", kUser, 0, handle_echo},
    Command{kPlain,
            {},
            "hello",
            -1,
            "[protover] [AUTH username password] [SETNAME clientname]",
            "Chooses the protocol, 2 or 3",
            kFirst,
            0,
            handle_hello},
    Command{kPlain,
            {},
            "auth",
            -2,
            "[username] password",
            "Says who the client is",
            kFirst,
            0,
            handle_auth},
    Command{kPlain,
            {},
            "select",
            2,
            "index",
            "Accepts database 0, the only one",
            kUser,
            0,
            handle_select},
    Command{kPlain, {}, "quit", -1, "", "Closes the connection", kFirst, 0, handle_quit},
    Command{
        kPlain, {}, "reset", 1, "", "Makes the connection as good as new", kFirst, 0, handle_reset},
    Command{
        kPlain, {}, "info", -1, "[section ...]", "Tells about this node", kUser, 0, handle_info},

    Command{kContainer, {}, "client", -2, "", "Commands about the connection", kUser, 0, nullptr},
    Command{kSubcommand, "client", "getname", 2, "", "The name of the connection", kUser, 0,
            handle_client_get_name},
    Command{kSubcommand, "client", "help", 2, "", kHelp, kUser, 0, handle_help},
    Command{kSubcommand, "client", "id", 2, "", "The number of the connection", kUser, 0,
            handle_client_id},
    Command{kSubcommand, "client", "info", 2, "", "Tells about the connection", kUser, 0,
            handle_client_info},
    Command{kSubcommand, "client", "list", -2, "", "Tells about this connection alone", kUser, 0,
            handle_client_list},
    Command{kSubcommand, "client", "no-evict", 3, "ON|OFF", "Accepted, without effect", kUser, 0,
            handle_client_on_off},
    Command{kSubcommand, "client", "no-touch", 3, "ON|OFF", "Accepted, without effect", kUser, 0,
            handle_client_on_off},
    Command{kSubcommand, "client", "setinfo", 4, "LIB-NAME|LIB-VER value",
            "Accepted, without effect", kUser, 0, handle_client_set_info},
    Command{kSubcommand, "client", "setname", 3, "name", "Names the connection", kUser, 0,
            handle_client_set_name},

    Command{kContainer, {}, "command", -1, "", "Tells about commands", kUser, 0, handle_command},
    Command{kSubcommand, "command", "count", 2, "", "How many commands there are", kUser, 0,
            handle_command_count},
    Command{kSubcommand, "command", "docs", -2, "[name ...]", "What commands are for", kUser, 0,
            handle_command_docs},
    Command{kSubcommand, "command", "help", 2, "", kHelp, kUser, 0, handle_help},
    Command{kSubcommand, "command", "info", -2, "[name ...]", "What clients need to know", kUser, 0,
            handle_command_info},
    Command{kSubcommand, "command", "list", 2, "", "The names of all commands", kUser, 0,
            handle_command_list},

    Command{kContainer, {}, "config", -2, "", "Tells how this node is set up", kUser, 0, nullptr},
    Command{kSubcommand, "config", "get", -3, "pattern ...", "The settings of these names", kUser,
            0, handle_config_get},
    Command{kSubcommand, "config", "help", 2, "", kHelp, kUser, 0, handle_help},
};

// Nearly all requests are for the first few: comparing lengths, then letters, is faster
// than hashing.
const Command* find_top(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.kind != kSubcommand && equal_ignoring_case(command.name, name)) return &command;
  }
  return nullptr;
}

const Command* find_subcommand(const Command& container, std::string_view name) {
  for (const Command& command : kCommands) {
    const bool belongs = command.container == container.name;
    if (belongs && equal_ignoring_case(command.name, name)) return &command;
  }
  return nullptr;
}

constexpr std::size_t kShownMax = 128;  // bytes of what a client sent, as in Redis

// 'a' 'b' , cut as Redis cuts it.
std::string shown_arguments(std::span<const std::string_view> arguments) {
  std::string shown;
  for (const std::string_view argument : arguments) {
    if (shown.size() >= kShownMax) break;
    shown += '\'';
    shown += argument.substr(0, kShownMax - shown.size() + 1);
    shown += "' ";
  }
  return shown;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

Lookup find_command(std::span<const std::string_view> arguments) {
  const Command* const command = find_top(arguments[0]);
  if (command == nullptr || command->kind != kContainer || arguments.size() == 1) {
    return {.command = command};
  }
  return {.command = find_subcommand(*command, arguments[1]), .container = command};
}

std::string full_name(const Command& command) {
  const std::string name(command.name);
  return command.kind == kSubcommand ? std::string(command.container) + "|" + name : name;
}

void refuse_unknown(RespCore& core, const RespRequest& request, const Lookup& found) {
  const auto& arguments = request.arguments;
  const auto shown = [](std::string_view text) { return std::string(text.substr(0, kShownMax)); };
  if (found.container == nullptr) {
    return core.reply(request).error(
        "ERR unknown command '" + shown(arguments[0]) +
        "', with args beginning with: " + shown_arguments(arguments.subspan(1)));
  }
  std::string container(found.container->name);
  std::ranges::transform(container, container.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  core.reply(request).error("ERR unknown subcommand '" + shown(arguments[1]) + "'. Try " +
                            container + " HELP.");
}

void refuse_access(RespCore& core, const RespRequest& request, const Command& command) {
  auto reply = core.reply(request);
  if (request.client.trust == Trust::kStranger) {
    return reply.error("NOAUTH Authentication required.");
  }
  const std::string name = full_name(command);
  if (core.node().access().admin_token) {
    return reply.error("NOPERM '" + name + "' needs AUTH with the admin token");
  }
  reply.error("NOPERM '" + name +
              "' is for admins: this server listens on more than loopback and has no admin token");
}

bool read_integer(std::string_view text, std::int64_t& number) {
  const bool has_plus = text.starts_with('+');
  if (has_plus) text.remove_prefix(1);
  if (has_plus && text.starts_with('-')) return false;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && parsed == end;
}

}  // namespace weir::resp
