// Plays a Redis that says anything to our side of a connection, in one piece and in random
// ones. Both sides hear the same, every call has exactly one outcome, and none has any once the
// conversation is over.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "proto/reactor_testing.h"
#include "store/redis/client/conversation.h"

namespace weir {
namespace {

constexpr std::size_t kCalls = 8;
constexpr Instant kNow = instant_from_epoch_us(1'000'000'000);

class Call final : public RedisCall {
 public:
  explicit Call(std::string& course) : course_(course) {}
  void replied(const resp::Reply& reply, Instant) noexcept override {
    note('r');
    course_ += reply.text();
  }
  void failed(RedisFailure why, Instant) noexcept override {
    note('f');
    course_ += std::to_string(static_cast<int>(why));
  }
  int outcomes() const { return outcomes_; }

 private:
  void note(char what) {
    course_ += what;
    ++outcomes_;
  }
  std::string& course_;
  int outcomes_ = 0;
};

class Listener final : public ConversationListener {
 public:
  explicit Listener(std::string& course) : course_(course) {}
  void opened(Instant) override { is_open_ = true; }
  void ended(const Ending& ending, Instant) override { course_ += "|" + ending.why; }
  bool takes_error(RedisCall&, const resp::Reply&, Instant) override { return false; }
  bool is_open() const { return is_open_; }

 private:
  std::string& course_;
  bool is_open_ = false;
};

// A greeting that succeeds, unless the input brings its own.
constexpr std::string_view kWelcome = "%2\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n+PONG\r\n";

void feed(Conversation& conversation, std::string_view bytes) {
  while (!bytes.empty() && !conversation.finished()) {
    const auto space = conversation.input_space();
    const std::size_t size = std::min(space.size(), bytes.size());
    WEIR_ASSERT(size > 0);
    std::copy_n(bytes.begin(), size, space.begin());
    conversation.received(size, kNow);
    bytes.remove_prefix(size);
  }
}

std::string hear(std::string_view bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::size_t longest = std::size_t{1} << (random() % 10);
  ManualReactor reactor;
  const Login login;
  std::string course;
  Listener listener(course);
  std::deque<Call> calls;
  {
    Conversation conversation(login, reactor, listener, kNow);
    if (seed % 2 == 0) feed(conversation, kWelcome);
    conversation.subscribe("news",
                           [&](const resp::Reply& push, Instant) { course += push[0].text(); });
    const std::string_view word = "PING";
    for (std::size_t i = 0; listener.is_open() && i < kCalls; ++i) {
      calls.emplace_back(course);
      const auto refusal =
          conversation.send({&word, 1}, kNow + std::chrono::seconds(1), calls.back(), kNow);
      WEIR_ASSERT(!refusal);
    }
    while (!bytes.empty()) {
      const std::size_t size = seed < 2 ? bytes.size() : 1 + random() % longest;
      feed(conversation, bytes.substr(0, size));
      bytes.remove_prefix(std::min(size, bytes.size()));
    }
  }
  for (const Call& call : calls) WEIR_ASSERT(call.outcomes() == 1);
  return course;
}

}  // namespace
}  // namespace weir

// The first two bytes say how the rest is split, and whether it begins with a greeting.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint32_t seed = data[0] + 256u * data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  WEIR_ASSERT(weir::hear(bytes, seed) == weir::hear(bytes, seed % 2));
  return 0;
}
