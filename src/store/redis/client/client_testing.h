// Shared by the tests of this folder: a world of one core in which the test moves time, answers for
// the servers, and sees which calls come.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/dialer.h"
#include "proto/reactor.h"
#include "proto/reactor_testing.h"
#include "store/redis/client/link.h"
#include "store/redis/client/redis_client.h"

namespace weir {

// Time that the test moves.
class FakeReactor final : public Reactor {
 public:
  std::unique_ptr<Alarm> make_alarm(std::function<void(Instant)> ring) override {
    return alarms_.make_alarm(std::move(ring));
  }

  Instant now() const { return now_; }

  // Rings the alarms that are due until then, in the order of their times.
  void advance(Duration step) {
    const Instant end = now_ + step;
    while (alarms_.next() <= end) {
      now_ = std::max(now_, alarms_.next());
      alarms_.run(now_);
    }
    now_ = end;
  }

 private:
  Instant now_ = instant_from_epoch_us(1'000'000'000);
  ManualReactor alarms_;
};

// Attempts wait until the test decides.
class FakeDialer final : public Dialer {
 public:
  explicit FakeDialer(FakeReactor& reactor) : reactor_(reactor) {}

  std::unique_ptr<Dial> dial(const Destination& destination, Instant,
                             DialListener& listener) override {
    auto attempt = std::make_unique<FakeDial>(*this, destination, listener);
    attempts_.push_back(attempt.get());
    return attempt;
  }

  // The destinations of attempts that wait, as text: "a:1 b:2".
  std::string wanted() const {
    std::string text;
    for (const auto* attempt : attempts_) {
      text += (text.empty() ? "" : " ") + attempt->destination.to_string();
    }
    return text;
  }

  // The first attempt at `destination` succeeds.
  std::unique_ptr<Session> accept(const std::string& destination) {
    FakeDial* const attempt = take(destination);
    return attempt != nullptr ? attempt->listener.connected(reactor_.now()) : nullptr;
  }
  void refuse(const std::string& destination) {
    FakeDial* const attempt = take(destination);
    if (attempt != nullptr) attempt->listener.not_connected("refused", reactor_.now());
  }

 private:
  struct FakeDial final : Dial {
    FakeDial(FakeDialer& owner, Destination place, DialListener& who)
        : dialer(owner), destination(std::move(place)), listener(who) {}
    ~FakeDial() override { std::erase(dialer.attempts_, this); }

    FakeDialer& dialer;
    Destination destination;
    DialListener& listener;
  };

  FakeDial* take(const std::string& destination) {
    const auto found = std::ranges::find_if(attempts_, [&](const FakeDial* attempt) {
      return attempt->destination.to_string() == destination;
    });
    if (found == attempts_.end()) {
      ADD_FAILURE() << "nobody wants " << destination << " but " << wanted();
      return nullptr;
    }
    FakeDial* const attempt = *found;
    attempts_.erase(found);
    return attempt;
  }

  FakeReactor& reactor_;
  std::vector<FakeDial*> attempts_;
};

// A server's end of a connection: what it receives and sends.
class Server {
 public:
  Server(std::unique_ptr<Session> session, FakeReactor& reactor)
      : session_(std::move(session)), reactor_(reactor) {}

  // The words that it was sent since the last hear(): "PING|SET a b".
  std::string hear() {
    std::string heard;
    const auto bytes = std::string(session_->output());
    session_->sent(bytes.size(), reactor_.now());
    std::size_t at = 0;
    const auto number = [&] {
      const auto end = bytes.find("\r\n", at);
      const auto value = std::stoul(bytes.substr(at + 1, end - at - 1));
      at = end + 2;
      return value;
    };
    while (at < bytes.size()) {
      const auto words = number();
      heard += heard.empty() ? "" : "|";
      for (std::size_t i = 0; i < words; ++i) {
        const auto size = number();
        heard += (i > 0 ? " " : "") + bytes.substr(at, size);
        at += size + 2;
      }
    }
    return heard;
  }

  // Sends lines, each with its end.
  void say(const std::vector<std::string>& lines) {
    for (const auto& line : lines) say_bytes(line + "\r\n");
  }
  void say_bytes(std::string_view bytes) {
    while (const auto size = feed_piece(*session_, bytes, reactor_.now())) {
      bytes.remove_prefix(size);
    }
  }

  // Answers the handshake as a Redis of this mode and role.
  void welcome(const std::string& mode, const std::string& role) {
    hear();
    say({"%2", "+mode", "+" + mode, "+role", "+" + role});
    hear();
    say({"+PONG"});
  }

  void hang_up() {
    session_->peer_closed(reactor_.now());
    session_.reset();
  }
  void break_down() { session_.reset(); }
  bool is_finished() const { return session_ == nullptr || session_->finished(); }
  Session& session() { return *session_; }

 private:
  std::unique_ptr<Session> session_;
  FakeReactor& reactor_;
};

// A call that records its outcome.
class NotedCall final : public RedisCall {
 public:
  void replied(const resp::Reply& reply, Instant now) noexcept override {
    note(reply.integer() ? std::to_string(*reply.integer()) : std::string(reply.text()), now);
  }
  void failed(RedisFailure why, Instant now) noexcept override {
    note(std::string(failure_name(why)), now);
  }

  std::string outcome;  // empty: none yet
  std::function<void(Instant)> then = [](Instant) {};

 private:
  void note(const std::string& text, Instant now) {
    outcome += (outcome.empty() ? "" : ", ") + text;
    const auto action = then;  // which may set another
    action(now);
  }
};

// Records the states that were announced.
class NotedStates final : public RedisListener {
 public:
  void redis_changed(const LinkState& state, Instant) override {
    constexpr std::array kNames = {"connecting", "connected", "disconnected"};
    const auto name = std::string(kNames[static_cast<std::size_t>(state.phase)]);
    said.push_back(name + (state.reason.empty() ? "" : ": " + state.reason));
  }
  std::vector<std::string> said;
};

}  // namespace weir
