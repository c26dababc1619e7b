// PING, ECHO, HELLO, AUTH, SELECT, QUIT, RESET: words and order of checks as in Redis 7.

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/ascii.h"
#include "server/resp/commands.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";
constexpr std::string_view kTooManyGuesses =
    "ERR too many wrong passwords came from this address; try again later";
constexpr std::string_view kOnlyUser = "default";

// How long a wrong password makes its connection wait.
constexpr Duration kPauseOfWrongPassword = std::chrono::seconds(1);
constexpr int kFailedLoginsMax = 5;  // then it closes

struct Credentials {
  std::string_view user;
  std::string_view secret;
};

// False if they are wrong, or if this address has sent too many wrong ones: then this has answered.
bool log_in(RespCore& core, RespRequest& request, const Credentials& credentials) {
  RespClient& client = request.client;
  std::optional<Trust> trust;
  const auto is_right = [&] {
    trust = authenticate(core.node().options().access, credentials.user, credentials.secret);
    return trust.has_value();
  };
  const auto verdict =
      core.node().options().logins->judge({.address = client.address}, is_right, request.now);
  if (verdict.is_refused()) {
    core.reply(request).error(kTooManyGuesses);
    client.leaving = true;
    return false;
  }
  if (verdict.is_right) {
    client.trust = *trust;
    return true;
  }
  client.leaving = ++client.failed_logins == kFailedLoginsMax;
  core.reply_late(request, kWrongPassword, kPauseOfWrongPassword);
  return false;
}

// AUTH and SETNAME behind HELLO's version. False if one was refused: then this has answered.
bool take_hello_options(RespCore& core, RespRequest& request,
                        std::span<const std::string_view> options) {
  while (!options.empty()) {
    if (equal_ignoring_case(options[0], "auth") && options.size() > 2) {
      if (!log_in(core, request, {.user = options[1], .secret = options[2]})) return false;
      options = options.subspan(3);
    } else if (equal_ignoring_case(options[0], "setname") && options.size() > 1) {
      if (!set_name(core, request, options[1])) return false;
      options = options.subspan(2);
    } else {
      core.reply(request).error("ERR Syntax error in HELLO option '" +
                                std::string(options[0].substr(0, 128)) + "'");
      return false;
    }
  }
  return true;
}

// nullopt if there is an error: then this has answered.
std::optional<Protocol> wanted_protocol(RespCore& core, const RespRequest& request) {
  if (request.arguments.size() == 1) return request.client.protocol;
  std::int64_t version = 0;
  if (!read_integer(request.arguments[1], version)) {
    core.reply(request).error("ERR Protocol version is not an integer or out of range");
    return std::nullopt;
  }
  if (version == 2) return Protocol::kResp2;
  if (version == 3) return Protocol::kResp3;
  core.reply(request).error("NOPROTO unsupported protocol version");
  return std::nullopt;
}

}  // namespace

void handle_ping(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  switch (request.arguments.size()) {
    case 1: return reply.status("PONG");
    case 2: return reply.bulk(request.arguments[1]);
    default: return reply.error("ERR wrong number of arguments for 'ping' command");
  }
}

void handle_echo(RespCore& core, RespRequest& request) {
  core.reply(request).bulk(request.arguments[1]);
}

void handle_hello(RespCore& core, RespRequest& request) {
  const auto protocol = wanted_protocol(core, request);
  if (!protocol) return;
  const auto options =
      request.arguments.subspan(std::min<std::size_t>(2, request.arguments.size()));
  if (!take_hello_options(core, request, options)) return;
  if (request.client.trust == Trust::kStranger) {
    return core.reply(request).error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
        "protocol version at the same time");
  }
  request.client.protocol = *protocol;
  auto reply = core.reply(request);
  reply.map(7);
  for (const auto text :
       std::array<std::string_view, 4>{"server", "redis", "version", kRedisVersion}) {
    reply.bulk(text);
  }
  reply.bulk("proto");
  reply.integer(static_cast<std::int64_t>(*protocol));
  reply.bulk("id");
  reply.integer(static_cast<std::int64_t>(request.client.id));
  for (const auto* const text : {"mode", "standalone", "role", "master", "modules"}) {
    reply.bulk(text);
  }
  reply.array(0);
}

void handle_auth(RespCore& core, RespRequest& request) {
  const auto& arguments = request.arguments;
  const RespAccess& access = core.node().options().access;
  if (arguments.size() > 3) return core.reply(request).error("ERR syntax error");
  if (arguments.size() == 2 && !access.password && !access.admin_token) {
    return core.reply(request).error(
        "ERR AUTH <password> called without any password configured for the default user. Are "
        "you sure your configuration is correct?");
  }
  const std::string_view user = arguments.size() == 3 ? arguments[1] : kOnlyUser;
  if (log_in(core, request, {.user = user, .secret = arguments.back()})) {
    core.reply(request).status("OK");
  }
}

void handle_select(RespCore& core, RespRequest& request) {
  std::int64_t index = 0;
  auto reply = core.reply(request);
  if (!read_integer(request.arguments[1], index)) {
    return reply.error("ERR value is not an integer or out of range");
  }
  if (index != 0) return reply.error("ERR DB index is out of range");
  reply.status("OK");
}

void handle_quit(RespCore& core, RespRequest& request) {
  core.reply(request).status("OK");
  request.client.leaving = true;
}

void handle_reset(RespCore& core, RespRequest& request) {
  core.reply(request).status("RESET");
  request.client.protocol = Protocol::kResp2;
  request.client.trust = initial_trust(core.node().options().access);
  request.client.name.clear();
  request.client.transaction.reset();
}

}  // namespace weir::resp
