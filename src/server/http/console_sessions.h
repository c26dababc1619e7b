// ConsoleSessions: the sessions of people who are signed in to the console.
//
// A browser shows the admin token once and gets the name of a session for it, 256 random bits in a
// cookie. So the token is in no page and no storage of the browser. The node keeps only a hash of
// the name. It forgets a session that was not used for kIdleMax, or is kAgeMax old. If there are
// more than kSessionsMax, it forgets the one unused for longest. All sessions end with the node.
//
// Thread rule: any thread; only requests of the console take the lock.
// Tested by console_sessions_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir {

// A session without its name: its holder can ask whether it is open, but not use it.
using SessionHash = std::array<unsigned char, 32>;

class ConsoleSessions {
 public:
  static constexpr std::size_t kSessionsMax = 64;
  static constexpr Duration kIdleMax = std::chrono::minutes(30);
  static constexpr Duration kAgeMax = std::chrono::hours(8);

  // Bytes that nobody can predict.
  using Chance = std::function<std::array<std::byte, 32>()>;
  explicit ConsoleSessions(Chance chance) : chance_(std::move(chance)) {}

  // Opens a session and returns its name, 64 hexadecimal digits.
  std::string open(Instant now);

  // Uses the session of that name; nullopt if there is none.
  std::optional<SessionHash> use(std::string_view name, Instant now);
  // Does the same by the session's hash. False if it has ended.
  bool use(const SessionHash& hash, Instant now);

  // Ends the session of that name, if there is one.
  void close(std::string_view name);

  std::size_t size() const;

 private:
  struct Session {
    SessionHash hash{};
    Instant opened{};
    Instant used{};
  };

  void forget_old(Instant now);

  const Chance chance_;
  mutable std::mutex mutex_;  // guards sessions_
  std::vector<Session> sessions_;
};

}  // namespace weir
