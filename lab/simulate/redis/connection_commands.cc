#include "simulate/redis/connection_commands.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "simulate/redis/scripts.h"

namespace weir::lab {
namespace {

constexpr std::string_view kVersion = "7.0.15";
constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

bool log_in(const ConnectionCall& call, std::string_view user, std::string_view password) {
  const std::string& right = call.options.password;
  const bool is_right = user == "default" && (right.empty() || password == right);
  if (is_right) call.peer.is_logged_in = true;
  return is_right;
}

// True: all options are carried out. False: one is wrong, which is answered.
bool take_hello_options(const ConnectionCall& call) {
  const Words words = call.words;
  std::string_view name;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t more = words.size() - 1 - i;
    if (equals_ignoring_case(words[i], "auth") && more >= 2) {
      if (!log_in(call, words[i + 1], words[i + 2])) return call.reply.error(kWrongPassword), false;
      i += 2;
    } else if (equals_ignoring_case(words[i], "setname") && more >= 1) {
      name = words[++i];
    } else {
      call.reply.error("ERR Syntax error in HELLO option '" + std::string(words[i]) + "'");
      return false;
    }
  }
  if (!call.options.password.empty() && !call.peer.is_logged_in) {
    call.reply.error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "AUTH <user> <pass> option can be used to authenticate the client and select the RESP "
        "protocol version at the same time");
    return false;
  }
  if (!name.empty()) call.peer.name = name;
  return true;
}

// Answers in the protocol that the peer has just chosen.
void introduce(const ConnectionCall& call) {
  RedisReply reply(call.reply.out(), protocol_of(call.peer));
  const auto pair = [&reply](std::string_view key, std::string_view value) {
    reply.bulk(key);
    reply.bulk(value);
  };
  reply.map(call.role.empty() ? 6 : 7);
  pair("server", "redis");
  pair("version", kVersion);
  reply.bulk("proto");
  reply.integer(call.peer.protocol);
  reply.bulk("id");
  reply.integer(call.peer.id);
  pair("mode", "standalone");
  if (!call.role.empty()) pair("role", call.role);
  reply.bulk("modules");
  reply.array(0);
}

void hello(const ConnectionCall& call) {
  int protocol = call.peer.protocol;
  if (call.words.size() > 1) {
    const auto version = parse_integer(call.words[1]);
    if (!version) {
      return call.reply.error("ERR Protocol version is not an integer or out of range");
    }
    if (*version < 2 || *version > 3) {
      return call.reply.error("NOPROTO unsupported protocol version");
    }
    protocol = static_cast<int>(*version);
  }
  if (!take_hello_options(call)) return;
  call.peer.protocol = protocol;
  introduce(call);
}

void auth(const ConnectionCall& call) {
  const Words words = call.words;
  if (words.size() > 3) return call.reply.error("ERR syntax error");
  if (words.size() == 2 && call.options.password.empty()) {
    return call.reply.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const bool is_in = log_in(call, words.size() == 3 ? words[1] : "default", words.back());
  if (!is_in) return call.reply.error(kWrongPassword);
  call.reply.status("OK");
}

void set_name(const ConnectionCall& call) {
  const std::string_view name = call.words[2];
  const bool is_fine = std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
  if (!is_fine) {
    return call.reply.error(
        "ERR Client names cannot contain spaces, newlines or special characters.");
  }
  call.peer.name = name;
  call.reply.status("OK");
}

void client(const ConnectionCall& call) {
  const std::string name = small_letters(call.words[1]);
  const std::size_t size = call.words.size();
  if (name == "setname" && size == 3) {
    set_name(call);
  } else if (name == "getname" && size == 2) {
    if (call.peer.name.empty()) return call.reply.null();
    call.reply.bulk(call.peer.name);
  } else if (name == "id" && size == 2) {
    call.reply.integer(call.peer.id);
  } else if (name == "setname" || name == "getname" || name == "id") {
    call.reply.error(wrong_number("client|" + name));
  } else {
    call.reply.error("ERR unknown subcommand '" + std::string(call.words[1]) +
                     "'. Try CLIENT HELP.");
  }
}

void select(const ConnectionCall& call) {
  const auto number = parse_integer(call.words[1]);
  if (!number) return call.reply.error(kNotAnInteger);
  if (*number < 0 || *number >= kDatabases) return call.reply.error("ERR DB index is out of range");
  call.peer.database = static_cast<int>(*number);
  call.reply.status("OK");
}

void role(const ConnectionCall& call) {
  const auto position = static_cast<std::int64_t>(call.position);
  const bool is_master = call.role == "master";
  call.reply.array(is_master ? 3 : 5);
  call.reply.bulk(is_master ? "master" : "slave");
  if (!is_master) {
    call.reply.bulk("127.0.0.1");
    call.reply.integer(0);
    call.reply.bulk("connected");
  }
  call.reply.integer(position);
  if (is_master) call.reply.array(0);
}

}  // namespace

void serve_connection(std::string_view name, const ConnectionCall& call) {
  struct Row {
    std::string_view name;
    void (*serve)(const ConnectionCall& call);
  };
  constexpr std::array kRows = {Row{"auth", auth}, Row{"client", client}, Row{"hello", hello},
                                Row{"role", role}, Row{"select", select}};
  std::ranges::find(kRows, name, &Row::name)->serve(call);
}

}  // namespace weir::lab
