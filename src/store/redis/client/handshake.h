// Handshake: the exchange on a new connection to a Redis before the first command.
//
//   HELLO 3 AUTH user password SETNAME weir     logs in, names us; returns what the server is
//   AUTH, CLIENT SETNAME, ROLE                  instead, where there is no HELLO 3
//   SELECT database                             unless it is 0
//   PING                                        refused while data is being loaded
//
// It asks one question at a time. It has succeeded when Redis takes commands, writes included.
//
// Thread rule: one connection's. Tested by handshake_test.cc.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "proto/output_buffer.h"
#include "proto/resp/reply.h"
#include "store/redis/client/redis_url.h"

namespace weir {

// Why there is no connection any more, and whether trying again at once makes sense.
struct Ending {
  // kLater: an operator has to change something first.
  enum class Retry : std::uint8_t { kSoon, kLater };
  // kPeer: the peer has gone, or the connection broke, without a word.
  enum class By : std::uint8_t { kUs, kPeer };
  std::string why;  // a sentence without its stop
  Retry retry = Retry::kSoon;
  By by = By::kUs;
};

struct Login {
  // The server that must answer; any other is the wrong one.
  enum class Server : std::uint8_t { kMaster, kSentinel, kClusterNode };

  RedisCredentials credentials;
  int database = 0;
  Server server = Server::kMaster;
};

class Handshake {
 public:
  enum class Progress : std::uint8_t { kGoesOn, kDone, kFailed };

  // `login` must outlive this.
  explicit Handshake(const Login& login) : login_(login) {}

  // Asks the first question.
  void begin(OutputBuffer& out);

  // The reply to the last question. If it goes on, the next question is out.
  Progress replied(const resp::Reply& reply, OutputBuffer& out);

  // After kFailed.
  const Ending& ending() const { return ending_; }

  // After kDone: pushes come between replies.
  bool speaks_resp3() const { return resp3_; }

 private:
  enum class Step : std::uint8_t { kHello, kAuth, kName, kRole, kSelect, kPing };

  Progress after_hello(const resp::Reply& reply, OutputBuffer& out);
  Progress after_role(std::string_view role, OutputBuffer& out);
  Progress after_ping(const resp::Reply& reply);
  Progress log_in(OutputBuffer& out);
  Progress ask(Step step, std::initializer_list<std::string_view> words, OutputBuffer& out);
  Progress fail(Ending ending);
  Progress fail_login(const resp::Reply& error);

  const Login& login_;
  Step step_ = Step::kHello;
  bool resp3_ = false;
  Ending ending_;
};

}  // namespace weir
