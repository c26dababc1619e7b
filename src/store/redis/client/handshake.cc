#include "store/redis/client/handshake.h"

#include <utility>
#include <vector>

#include "proto/resp/command_writer.h"

namespace weir {
namespace {

using Progress = Handshake::Progress;
using Retry = Ending::Retry;

constexpr std::string_view kClientName = "weir";
constexpr std::size_t kQuotedMax = 200;  // bytes that we repeat of a peer's text

std::string quoted(const resp::Reply& reply) {
  return "it says: " + std::string(reply.text().substr(0, kQuotedMax));
}

}  // namespace

void Handshake::begin(OutputBuffer& out) {
  std::vector<std::string_view> words = {"HELLO", "3"};
  if (!login_.credentials.empty()) {
    const std::string_view user = login_.credentials.user;
    words.insert(words.end(),
                 {"AUTH", user.empty() ? "default" : user, login_.credentials.password});
  }
  words.insert(words.end(), {"SETNAME", kClientName});
  step_ = Step::kHello;
  resp::write_command(out, words);
}

Progress Handshake::replied(const resp::Reply& reply, OutputBuffer& out) {
  switch (step_) {
    case Step::kHello: return after_hello(reply, out);
    case Step::kAuth:
      if (reply.is_error()) return fail_login(reply);
      return ask(Step::kName, {"CLIENT", "SETNAME", kClientName}, out);
    case Step::kName: return ask(Step::kRole, {"ROLE"}, out);  // the name is a courtesy
    case Step::kRole: return after_role(reply[0].text(), out);
    case Step::kSelect:
      if (reply.is_error()) return fail({.why = quoted(reply), .retry = Retry::kLater});
      return ask(Step::kPing, {"PING"}, out);
    case Step::kPing: break;
  }
  return after_ping(reply);
}

// Only these errors say that there is no HELLO 3.
Progress Handshake::after_hello(const resp::Reply& reply, OutputBuffer& out) {
  if (reply.error_code() == "NOPROTO" || reply.text().starts_with("ERR unknown command")) {
    return log_in(out);
  }
  if (reply.is_error()) return fail_login(reply);
  resp3_ = true;
  const std::string_view mode = reply.at("mode").text();
  if (mode == "sentinel") return after_role(mode, out);
  const bool wants_cluster = login_.server == Login::Server::kClusterNode;
  if (wants_cluster && mode == "standalone") {
    return fail({.why = "it is not part of a cluster: its URL begins with redis://",
                 .retry = Retry::kLater});
  }
  if (!wants_cluster && mode == "cluster") {
    return fail({.why = "it is part of a cluster: its URL begins with redis-cluster://",
                 .retry = Retry::kLater});
  }
  return after_role(reply.at("role").text(), out);
}

Progress Handshake::log_in(OutputBuffer& out) {
  const auto& [user, password] = login_.credentials;
  if (password.empty()) return ask(Step::kName, {"CLIENT", "SETNAME", kClientName}, out);
  if (user.empty()) return ask(Step::kAuth, {"AUTH", password}, out);
  return ask(Step::kAuth, {"AUTH", user, password}, out);
}

// An unknown role (a user without ROLE learns none) counts as good: a write will show.
Progress Handshake::after_role(std::string_view role, OutputBuffer& out) {
  const bool is_sentinel = role == "sentinel";
  if (is_sentinel && login_.server != Login::Server::kSentinel) {
    return fail({.why = "it is a sentinel: its URL is redis-sentinel://HOSTS/MASTER",
                 .retry = Retry::kLater});
  }
  if (!is_sentinel && login_.server == Login::Server::kSentinel) {
    return fail({.why = "it is not a sentinel", .retry = Retry::kLater});
  }
  if (login_.server == Login::Server::kMaster && (role == "replica" || role == "slave")) {
    return fail({.why = "it is a replica, which cannot be written to"});
  }
  if (login_.database == 0) return ask(Step::kPing, {"PING"}, out);
  return ask(Step::kSelect, {"SELECT", std::to_string(login_.database)}, out);
}

// A user without PING may still have all rights that Weir needs.
Progress Handshake::after_ping(const resp::Reply& reply) {
  if (!reply.is_error() || reply.error_code() == "NOPERM") return Progress::kDone;
  return reply.error_code() == "NOAUTH" ? fail_login(reply) : fail({.why = quoted(reply)});
}

Progress Handshake::ask(Step step, std::initializer_list<std::string_view> words,
                        OutputBuffer& out) {
  step_ = step;
  resp::write_command(out, {words.begin(), words.size()});
  return Progress::kGoesOn;
}

Progress Handshake::fail(Ending ending) {
  ending_ = std::move(ending);
  return Progress::kFailed;
}

// Codes of today and of Redis before ACLs; other errors ("max number of clients") may pass.
Progress Handshake::fail_login(const resp::Reply& error) {
  const std::string_view code = error.error_code();
  if (code == "NOAUTH") {
    return fail({.why = "it wants a password, and the URL has none", .retry = Retry::kLater});
  }
  if (code == "WRONGPASS") {
    return fail({.why = "the user or the password is wrong, or the user is disabled",
                 .retry = Retry::kLater});
  }
  const bool may_pass = code == "ERR" && step_ == Step::kHello;
  return fail({.why = quoted(error), .retry = may_pass ? Retry::kSoon : Retry::kLater});
}

}  // namespace weir
