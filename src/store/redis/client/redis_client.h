// RedisClient: one core's connection to a Redis, to a set of them behind sentinels, or to a
// cluster. Its user does not know which.
//
//   class Beat final : public RedisCall { ... };
//   if (const auto refusal = client.send(words, slot, now + 20ms, beat, now)) ...
//
// Commands are pipelined: those of one round of the event loop leave together, at the end of that
// round.
//
// Thread rule: the core that made it. Tested by the tests of each kind in this
// folder, and with real servers by tests/e2e/redis_login_test.py and tests/e2e/faults_test.py.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/dialer.h"
#include "proto/reactor.h"
#include "proto/resp/reply.h"
#include "store/redis/client/redis_failure.h"
#include "weir/time.h"

namespace weir {

class Conversation;

// Waits for the reply to one command. Its sender owns it. It is in one flight at a time, and may be
// sent again from its own callback.
class RedisCall {
 public:
  RedisCall() = default;
  RedisCall(const RedisCall&) = delete;
  RedisCall& operator=(const RedisCall&) = delete;

  // The reply, which may be an error ("NOSCRIPT ..."). Valid during the call.
  virtual void replied(const resp::Reply& reply, Instant now) noexcept = 0;

  // There will be no reply.
  virtual void failed(RedisFailure why, Instant now) noexcept = 0;

 protected:
  // REQUIRES: not in flight; see RedisClient::forget()
  ~RedisCall() = default;

 private:
  friend class Conversation;
  friend class ClusterClient;

  Conversation* conversation_ = nullptr;  // while it waits there for a reply
  std::uint64_t ticket_ = 0;              // its place in the conversation's line
  // For sending it again, to another node of a cluster.
  std::span<const std::string_view> words_;
  Instant deadline_;
  std::uint16_t slot_ = 0;
  std::uint8_t redirections_ = 0;
};

struct LinkState {
  enum class Phase : std::uint8_t {
    kConnecting,    // from the start until the first outcome
    kConnected,     // commands, also those that write, can be sent
    kDisconnected,  // in a cluster: at least one of the masters is away
  };
  Phase phase = Phase::kConnecting;
  std::string reason;  // why not connected, one sentence without its stop; no secrets
  Instant since;
};

// The surroundings that a client works with. All must outlive it.
struct RedisSurroundings {
  Reactor& reactor;
  Dialer& dialer;
  std::uint32_t seed;  // of chance; different on each core
};

// Hears changes and failures of a Redis, seldom enough for the log and health.
//
// It may run out of memory: the caller catches std::bad_alloc. A failure is then reported again
// with the next one, a change is not.
class RedisListener {
 public:
  // The client's state.
  virtual void redis_changed(const LinkState&, Instant /*now*/) {}
  // The sender calls Redis again, or stops. A listener's own calls leave before the sender reads
  // the answers of the call that was answered.
  virtual void breaker_changed(Instant /*now*/) {}
  // The first failure of a kind, or the first for RedisTroubles::kNamedAgain; `detail` is Redis's
  // own text. It must not use a store.
  virtual void redis_failed(RedisFailure, std::string_view /*detail*/, Instant /*now*/) {}

 protected:
  ~RedisListener() = default;
};

class RedisClient {
 public:
  virtual ~RedisClient() = default;

  // Sends a command: its name and arguments. Exactly one of call.replied() and call.failed()
  // follows, once, and never from within this function; failed(kTimedOut) soon after `deadline`. If
  // this returns a failure, nothing is sent and neither follows.
  //
  // `words`, the texts they view and `call` stay as they are until then. `slot` is that of all keys
  // of the command (cluster_slot.h); only a cluster uses it.
  // REQUIRES: `call` is not in flight; `words` is not empty
  [[nodiscard]] virtual std::optional<RedisFailure> send(std::span<const std::string_view> words,
                                                         std::uint16_t slot, Instant deadline,
                                                         RedisCall& call, Instant now) = 0;

  // The call's owner goes away: neither callback follows. Harmless if it is not in flight.
  virtual void forget(RedisCall& call) = 0;

  virtual const LinkState& state() const = 0;
};

struct RedisUrl;

// Makes the client that the URL asks for. It starts connecting at once, and never stops trying. The
// parts of `surroundings`, and `listener`, must outlive it. When it goes, calls in flight fail:
// kDisconnected.
std::unique_ptr<RedisClient> make_redis_client(const RedisUrl& url,
                                               const RedisSurroundings& surroundings,
                                               RedisListener& listener, Instant now);

}  // namespace weir
