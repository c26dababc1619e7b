// For tests: a Redis door with a store in memory, and clients that hand it bytes.
//
//   RespTestDoor door;
//   EXPECT_EQ(door.ask("PING\r\n"), "+PONG\r\n");
//
// Thread rule: one thread.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "observe/traffic.h"
#include "rules/rule_set.h"
#include "server/resp/resp_door.h"
#include "server/resp/resp_node.h"
#include "weir/holding_store.h"
#include "weir/memory_store.h"
#include "weir/store.h"

namespace weir {

// The door's store. It answers until `broken`.
class BreakableStore final : public Store {
 public:
  explicit BreakableStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  void decide(Batch& batch, Instant now) noexcept override;
  bool answers_at_once() const noexcept override { return !broken; }
  Decision decide_one(Operation operation, Charge charge, Instant now) noexcept override {
    ++batches;
    return store_->decide_one(operation, charge, now);
  }

  bool broken = false;
  int batches = 0;

 private:
  std::unique_ptr<Store> store_;
};

// "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"
std::string command(std::initializer_list<std::string_view> words);
std::string command(const std::vector<std::string>& words);

class RespTestDoor;

// One connection.
class RespTestClient {
 public:
  explicit RespTestClient(RespTestDoor& door);

  // All answers. The client takes replies as they come; if they wait for a time, that passes.
  std::string ask(std::string_view bytes);
  // The same, with the bytes arriving in pieces of at most `piece`.
  std::string ask_in_pieces(std::string_view bytes, std::size_t piece);

  // The answers after it takes all replies, those that wait for a time included.
  std::string wait();

  Session& session() { return *session_; }
  bool finished() const { return session_->finished(); }
  // Takes all output there is, as a loop would.
  std::string drink();
  // Hands over as much as the session has space for; takes no replies. Returns how much.
  std::size_t feed(std::string_view bytes);

 private:
  RespTestDoor& door_;
  std::unique_ptr<Session> session_;
};

class RespTestDoor {
 public:
  struct Options {
    std::vector<Rule> rules;
    RespAccess access;
  };
  RespTestDoor();
  explicit RespTestDoor(Options options);

  // The answer of a new connection.
  std::string ask(std::string_view bytes) { return RespTestClient(*this).ask(bytes); }

  static constexpr Instant kStart = instant_from_epoch_us(784'111'777'000'000);  // in 1994

  BreakableStore store;
  Traffic traffic;
  KeyHasher hasher;
  Engine engine;
  HoldingStore holds{engine.local()};
  BlockList blocks;
  LoginGuard logins{hasher};
  RespNode node;
  RespDoor door;
  Instant now = kStart + std::chrono::seconds(100);
};

}  // namespace weir
