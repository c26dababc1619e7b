// Webhook: posts JSON texts to one URL, from its own thread, so that nobody waits for the receiver.
//
//   post() ──► waiting, 100 at most ──► this thread: connect, POST, status ──► done()
//
// It posts one text at a time, in their order. If the receiver does not answer in time, answers 429
// or 5xx, or is not there, it posts again a little later, a few times. It accepts any other status
// than 2xx as final. Redirects are not followed: the token is for the URL's host. A text without
// room is counted and gone, and so are texts that wait when the node stops.
//
// Thread rule: one thread makes, stops and destroys it; post() and figures() from any.
// Tested by webhook_test.cc and tests/e2e/unusual_test.py.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cli/http/http_client.h"
#include "weir/time.h"

namespace weir {

// Waits for so long. False: `stop` was requested meanwhile.
bool pause(const std::stop_token& stop, Duration length);

class Webhook {
 public:
  static constexpr std::size_t kWaitingMax = 100;

  struct Options {
    HttpUrl url;
    std::optional<std::string> token{};           // for Authorization: Bearer
    Duration patience = std::chrono::seconds(5);  // of one attempt
    // The pause before each further attempt.
    std::vector<Duration> pauses = {std::chrono::seconds(1), std::chrono::seconds(5)};
  };
  struct Outcome {
    std::string fault{};  // why the last attempt failed; empty: the text is delivered
    std::size_t attempts = 0;
  };
  // Called on the thread when a text is delivered or given up.
  using Done = std::function<void(const Outcome&)>;

  Webhook(Options options, Done done);
  ~Webhook() { stop(); }
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  void post(std::string json);
  // Breaks off the current attempt.
  void stop();

  struct Figures {
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;   // given up
    std::uint64_t dropped = 0;  // for want of room
  };
  Figures figures() const;

 private:
  struct Attempt {
    std::string fault{};
    bool may_try_again = true;
  };

  void work_off(const std::stop_token& stop);
  std::optional<std::string> next(const std::stop_token& stop);
  Outcome deliver(const std::string& json, const std::stop_token& stop) const;
  Attempt attempt(const std::string& json, const std::stop_token& stop) const;

  const Options options_;
  const Done done_;

  mutable std::mutex mutex_;  // guards the fields below
  std::condition_variable_any wake_;
  std::deque<std::string> waiting_;
  Figures figures_;

  std::jthread thread_;
};

}  // namespace weir
