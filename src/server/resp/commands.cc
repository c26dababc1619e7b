#include "server/resp/commands.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/decimal.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

constexpr auto kStranger = Trust::kStranger;  // any client may say it first
constexpr auto kUser = Trust::kUser;
constexpr auto kAdmin = Trust::kAdmin;

constexpr std::string_view kThrottleUsage = "key max_burst count period [quantity]";
constexpr std::string_view kHelp = "Lists the subcommands";
constexpr std::string_view kIgnored = "Accepted, without effect";
constexpr auto kAtOnce = InMulti::kAtOnce;

constexpr Command kCommands[] = {
    {"cl.throttle", -1, kThrottleUsage, "Spends from the key's token bucket, as redis-cell does",
     handle_cl_throttle, 1},
    {"weir.hit", -3, "rule key [cost]", "Spends from the key's quota of a configured rule",
     handle_hit, 2},
    {"weir.mhit", -5, "ALL|EACH rule key cost ...",
     "Spends from up to 16 keys: all or nothing, or each for itself", handle_hit_many, 3},
    {"weir.look", -3, "rule key [cost]", "What WEIR.HIT would answer; spends nothing", handle_look,
     2},
    {"weir.charge", -3, "rule key [cost]", "Counts work that is done, whether or not it fits",
     handle_charge, 2},
    {"weir.drain", -3, "rule key [cost]",
     "As WEIR.HIT, but takes what is left where it does not fit", handle_drain, 2},
    {"weir.reserve", 5, "rule key cost hold",
     "As WEIR.HIT, but holds the cost for so long, until WEIR.COMMIT says what it was",
     handle_reserve, 2},
    {"weir.commit", -3, "token cost [MORE]",
     "Charges what reserved work has cost; with MORE it goes on", handle_commit},
    {"weir.acquire", 4, "rule key hold",
     "Takes one of the key's slots for so long at most, until WEIR.RELEASE", handle_acquire, 2},
    {"weir.release", 2, "token", "Gives a slot back", handle_release},
    {"weir.reset", 3, "rule key", "Forgets what a key has spent", handle_reset_key, 2, kAdmin},
    {"throttle", -5, kThrottleUsage, "Spends from the key's token bucket, as throttlecrab does",
     handle_throttle, 1},
    {"ping", -1, "[message]", "Answers PONG, or the message", handle_ping},
    {"echo", 2, "message", "Answers the message", handle_echo},
    {"hello", -1, "[protover] [AUTH username password] [SETNAME clientname]",
     "Chooses the protocol, 2 or 3", handle_hello, 0, kStranger},
    {"auth", -2, "[username] password", "Says who the client is", handle_auth, 0, kStranger},
    {"select", 2, "index", "Accepts database 0, the only one", handle_select},
    {"quit", -1, "", "Closes the connection", handle_quit, 0, kStranger, false, kAtOnce},
    {"reset", 1, "", "Makes the connection as good as new", handle_reset, 0, kStranger, false,
     kAtOnce},
    {"multi", 1, "", "Queues the commands that follow, until EXEC", handle_multi, 0, kUser, false,
     kAtOnce},
    {"exec", 1, "", "Carries out what is queued", handle_exec, 0, kUser, false, kAtOnce},
    {"discard", 1, "", "Forgets what is queued", handle_discard, 0, kUser, false, kAtOnce},
    {"watch", -2, "key ...", "Refused: WEIR.ATOMIC is all or nothing", handle_watch, 0, kUser,
     false, kAtOnce},
    {"unwatch", 1, "", "Answers OK: nothing is watched", handle_unwatch},
    {"weir.atomic", 1, "", "First behind MULTI: EXEC charges all checks, or none", handle_atomic, 0,
     kUser, false, kAtOnce},
    {"info", -1, "[section ...]", "Tells about this node", handle_info},

    {"client", -2, "", "Commands about the connection", nullptr, 0, kUser, true},
    {"client|getname", 2, "", "The name of the connection", handle_client_get_name},
    {"client|help", 2, "", kHelp, handle_help},
    {"client|id", 2, "", "The number of the connection", handle_client_id},
    {"client|info", 2, "", "Tells about the connection", handle_client_info},
    {"client|list", -2, "", "Tells about this connection alone", handle_client_list},
    {"client|no-evict", 3, "ON|OFF", kIgnored, handle_client_on_off},
    {"client|no-touch", 3, "ON|OFF", kIgnored, handle_client_on_off},
    {"client|setinfo", 4, "LIB-NAME|LIB-VER value", kIgnored, handle_client_set_info},
    {"client|setname", 3, "name", "Names the connection", handle_client_set_name},

    {"command", -1, "", "Tells about commands", handle_command, 0, kUser, true},
    {"command|count", 2, "", "How many commands there are", handle_command_count},
    {"command|docs", -2, "[name ...]", "What commands are for", handle_command_docs},
    {"command|help", 2, "", kHelp, handle_help},
    {"command|info", -2, "[name ...]", "What clients need to know", handle_command_info},
    {"command|list", 2, "", "The names of all commands", handle_command_list},

    {"config", -2, "", "Tells how this node is set up", nullptr, 0, kUser, true},
    {"config|get", -3, "pattern ...", "The settings of these names", handle_config_get},
    {"config|help", 2, "", kHelp, handle_help},
};

// Nearly all requests are for the first few commands: comparing lengths, then letters, is faster
// than hashing.
const Command* find_top(std::string_view name) {
  for (const Command& command : kCommands) {
    if (!equal_ignoring_case(command.name, name)) continue;
    return command.is_subcommand() ? nullptr : &command;  // "client|id" is no first word
  }
  return nullptr;
}

const Command* find_subcommand(const Command& container, std::string_view name) {
  for (const Command& command : kCommands) {
    const bool belongs = container.contains(command);
    if (belongs && equal_ignoring_case(command.last_word(), name)) return &command;
  }
  return nullptr;
}

constexpr std::size_t kShownMax = 128;  // bytes of what a client sent, as in Redis

// 'a' 'b' , cut as in Redis.
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

std::string unknown(const RespRequest& request, const Lookup& found) {
  const auto& arguments = request.arguments;
  const auto shown = [](std::string_view text) { return std::string(text.substr(0, kShownMax)); };
  if (found.container == nullptr) {
    return "ERR unknown command '" + shown(arguments[0]) +
           "', with args beginning with: " + shown_arguments(arguments.subspan(1));
  }
  std::string container(found.container->name);
  std::ranges::transform(container, container.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return "ERR unknown subcommand '" + shown(arguments[1]) + "'. Try " + container + " HELP.";
}

std::string no_access(RespCore& core, const RespRequest& request, const Command& command) {
  if (request.client.trust == Trust::kStranger) return "NOAUTH Authentication required.";
  const std::string name(command.name);
  if (core.node().options().access.admin_token) {
    return "NOPERM '" + name + "' needs AUTH with the admin token";
  }
  return "NOPERM '" + name +
         "' is for admins: this server listens on more than loopback and has no admin token";
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

Lookup find_command(std::span<const std::string_view> arguments) {
  const Command* const command = find_top(arguments[0]);
  if (command == nullptr || !command->has_subcommands || arguments.size() == 1) {
    return {.command = command};
  }
  return {.command = find_subcommand(*command, arguments[1]), .container = command};
}

std::optional<std::string> refusal(RespCore& core, const RespRequest& request,
                                   const Lookup& found) {
  if (found.command == nullptr) return unknown(request, found);
  const Command& command = *found.command;
  if (!takes(command, request.arguments.size())) {
    return "ERR wrong number of arguments for '" + std::string(command.name) + "' command";
  }
  if (request.client.trust < command.needs) return no_access(core, request, command);
  return std::nullopt;
}

bool read_integer(std::string_view text, std::int64_t& number) {
  constexpr std::size_t kPlainMax = 18;  // digits that always fit
  std::int64_t plain = 0;
  bool is_plain = !text.empty() && text.size() <= kPlainMax;
  for (std::size_t i = 0; is_plain && i < text.size(); ++i) {
    const auto digit = static_cast<unsigned>(text[i] - '0');
    is_plain = digit <= 9;
    plain = 10 * plain + digit;
  }
  if (is_plain) {
    number = plain;
    return true;
  }
  const bool has_plus = text.starts_with('+');
  if (has_plus) text.remove_prefix(1);
  if (has_plus && text.starts_with('-')) return false;
  const auto read = read_decimal<std::int64_t>(text);
  number = read.value_or(number);
  return read.has_value();
}

}  // namespace weir::resp
