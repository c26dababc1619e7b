// Conversation: our side of one connection to a Redis.
//
// A handshake, then commands and their replies, which come in the order of the commands. A command
// fails at its deadline. Its place in the line stays until its late reply has been thrown away. If
// nothing at all has come for kSilenceMax while a reply is due, the conversation ends.
//
// It ends by the peer, by an answer of the peer, by silence, or because its listener leaves. The
// listener learns it first (so that sending again fails at once, and not for ever), then every call
// that waits fails: kDisconnected.
//
// Thread rule: one core. Tested by conversation_test.cc and fuzz/redis_conversation_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "proto/input_buffer.h"
#include "proto/output_buffer.h"
#include "proto/reactor.h"
#include "proto/resp/reply_reader.h"
#include "proto/session.h"
#include "store/redis/client/handshake.h"
#include "store/redis/client/redis_client.h"

namespace weir {

class ConversationListener {
 public:
  // Commands can be sent.
  virtual void opened(Instant now) = 0;
  // Nothing can be sent any more; the conversation is about to be destroyed.
  virtual void ended(const Ending& ending, Instant now) = 0;
  // An error for `call`. True: the listener has dealt with it; false: the call reads it.
  virtual bool takes_error(RedisCall& call, const resp::Reply& error, Instant now) = 0;

 protected:
  ~ConversationListener() = default;
};

// check:allow(methods): twelve are a Session's, five its user's; both need the calls under way
class Conversation final : public Session {
 public:
  // Calls in flight and bytes to be sent: as much as a Redis answers in some 20 ms.
  static constexpr std::size_t kFlightsMax = 4'096;
  static constexpr std::size_t kOutputMax = std::size_t{4} << 20;
  static constexpr Duration kHandshakeMax = std::chrono::seconds(2);
  // Longer than a Redis is busy with one slow command, shorter than people wait.
  static constexpr Duration kSilenceMax = std::chrono::seconds(2);

  // `login` and `listener` outlive this, or leave().
  Conversation(const Login& login, Reactor& reactor, ConversationListener& listener, Instant now);
  ~Conversation() override;

  // As RedisClient::send().
  [[nodiscard]] std::optional<RedisFailure> send(std::span<const std::string_view> words,
                                                 Instant deadline, RedisCall& call, Instant now);
  // Ignores the answer. REQUIRES: the command has a reply.
  void send_blindly(std::span<const std::string_view> words, Instant now);
  // Takes what the peer sends of its own accord (a push), unless its protocol has no pushes.
  using Hear = std::function<void(const resp::Reply& push, Instant now)>;
  void subscribe(std::string_view channel, Hear hear);

  static void forget(RedisCall& call);

  // The listener goes away or wants no more, and is not called again.
  void leave();

  void attach(Waker& waker) override;
  void woken(Instant) override {}
  std::span<char> input_space() override;
  void received(std::size_t size, Instant now) override;
  void peer_closed(Instant now) override;
  std::string_view output() const override { return output_.view(); }
  void sent(std::size_t size, Instant now) override;
  void stamp(Duration) override {}
  Instant deadline() const override { return Instant::max(); }  // it has its alarm
  void expired(Instant) override {}
  void drain() override {}
  bool finished() const override { return phase_ == Phase::kEnded; }

 private:
  enum class Phase : std::uint8_t { kHandshake, kOpen, kEnded };

  struct Flight {
    RedisCall* call;  // null: no call waits for the reply any more
    Instant deadline;
  };

  Flight& flight(std::uint64_t ticket) { return flights_[ticket % kFlightsMax]; }
  void take_off(RedisCall* call, Instant deadline, Instant now);
  void wake();
  void dispatch(const resp::Reply& reply, Instant now);
  void go_on(const resp::Reply& reply, Instant now);
  void land(const resp::Reply& reply, Instant now);
  void ring(Instant now);
  void time_out_calls(Instant now);
  void set_alarm(Instant when);
  RedisCall* release(std::uint64_t ticket);
  void end(const Ending& ending, Instant now);

  ConversationListener* listener_;  // null: it has left
  Waker* waker_ = nullptr;
  const Ending broken_{.why = "the connection broke", .by = Ending::By::kPeer};
  Hear hear_;
  Handshake handshake_;
  Phase phase_ = Phase::kHandshake;
  InputBuffer input_;
  OutputBuffer output_;
  resp::ReplyReader reader_;
  std::vector<Flight> flights_{kFlightsMax};
  std::uint64_t first_ = 0;  // the ticket whose reply comes next
  std::uint64_t next_ = 0;   // the ticket of the next command
  Instant last_event_;       // the time of the loss, if the connection just breaks
  Instant silent_since_;     // while a reply is due
  Instant handshake_deadline_;
  Instant alarm_at_ = Instant::max();
  std::unique_ptr<Alarm> alarm_;
};

}  // namespace weir
