// Drives the HTTP door and the Redis door of one node at once. Connections of both say what the
// input says, in turns. The store answers late, in any order, or fails. Meanwhile connections go
// away, time passes, and the rules are loaded again.
//
// Always: no connection keeps more waiting than it may; when the store has answered, no connection
// waits, and both doors say the same about the same counter.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "engine/testing/late_store.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_test_door.h"
#include "server/resp/resp_door.h"
#include "weir/memory_store.h"

namespace weir {
namespace {

constexpr Instant kStart = instant_from_epoch_us(784'111'777'000'000);

// What may wait, and the longest single reply on top of it.
constexpr std::size_t kOutputMax = (1u << 20) + (4u << 20);

class Connection {
 public:
  Connection(SessionFactory& door, Instant now)
      : session_(door.make_session({.address = IpAddress::parse("127.0.0.1")}, now)) {
    session_->attach(waker_);
  }

  // As much as the session takes.
  void say(std::string_view bytes, Instant now) {
    while (const std::size_t size = feed_piece(*session_, bytes, now)) {
      bytes.remove_prefix(size);
      hear(now);
    }
  }

  void go_on(Instant now) {
    if (std::exchange(waker_.woken, false)) session_->woken(now);
    if (now >= session_->deadline()) session_->expired(now);
    hear(now);
  }

  void end(Instant now) {
    session_->peer_closed(now);
    hear(now);
  }

  bool finished() const { return session_->finished(); }
  std::string take_heard() { return std::exchange(heard_, {}); }

 private:
  void hear(Instant now) {
    while (!session_->output().empty()) {
      WEIR_ASSERT(session_->output().size() <= kOutputMax);
      session_->stamp(Duration{1});
      heard_ += session_->output();
      session_->sent(session_->output().size(), now);
    }
  }

  FlagWaker waker_;
  std::unique_ptr<Session> session_;
  std::string heard_;
};

RuleSetPtr make_rules(std::int64_t limit) {
  const auto quota = Quota::make({.limit = limit, .window = std::chrono::minutes(1)});
  return std::make_shared<const RuleSet>(std::vector<Rule>{
      {.id = "r", .quota = *quota}, {.id = "s", .quota = *quota, .shadow = true}});
}

class Node {
 public:
  Node() {
    add_check_routes(http_.core(), CheckRoutes::kAll);
    add_auth_route(http_.core());
    add_explain_page(http_.core(), nullptr);
    add_block_page(http_.core(), {});
    add_rule_pages(http_.core(), desk_, nullptr);
    add_denial_page(http_.core(), traffic_);
    for (Client& client : clients_) connect(client);
  }
  ~Node() {
    for (Client& client : clients_) client.reset();
    settle();
  }

  // One step of the input: what happens, and to which connection.
  void step(std::uint8_t what, std::string_view bytes) {
    Client& client = clients_[what % clients_.size()];
    switch (what / clients_.size() % 8) {
      case 0:
      case 1:
      case 2: client->say(bytes, now_); break;
      case 3: client->end(now_); break;
      case 4: connect(client); break;
      case 5: now_ += std::chrono::milliseconds(10 * bytes.size()); break;
      case 6: use_rules(make_rules(static_cast<std::int64_t>(1 + bytes.size() % 7))); break;
      default: answer(bytes.size());
    }
    go_on();
    if (client->finished()) connect(client);
  }

  // All that waits is answered, and both doors agree.
  void end() {
    settle();
    for (Client& client : clients_) connect(client);
    settle();
    store_.answer_at_once();
    for (const std::string_view rule : {"r", "s"}) {
      WEIR_ASSERT(remaining_by_http(rule) == remaining_by_resp(rule));
    }
  }

 private:
  using Client = std::unique_ptr<Connection>;

  SessionFactory& door_of(const Client& client) {
    const auto index = static_cast<std::size_t>(&client - clients_.data());
    return index % 2 == 0 ? static_cast<SessionFactory&>(http_) : resp_;
  }
  void connect(Client& client) {
    client.reset();
    client = std::make_unique<Connection>(door_of(client), now_);
  }

  void use_rules(const RuleSetPtr& rules) {
    http_.use_rules(rules);
    resp_.use_rules(rules);
  }

  void answer(std::size_t how) {
    if (store_.waiting() == 0) return;
    switch (how % 3) {
      case 0: return store_.answer_one();
      case 1: return store_.answer_last();
      default: return store_.fail_one();
    }
  }

  void go_on() {
    shared_.go_on();
    for (Client& client : clients_) {
      if (client != nullptr) client->go_on(now_);
    }
  }

  void settle() {
    while (store_.waiting() > 0) {
      store_.answer_all();
      go_on();
    }
  }

  std::string remaining_by_http(std::string_view rule) {
    Connection asker(http_, now_);
    const std::string body = R"({"key":"k","rule":")" + std::string(rule) + R"("})";
    asker.say("POST /v1/look HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body,
              now_);
    const std::string reply = asker.take_heard();
    constexpr std::string_view kName = "\"remaining\":";
    const auto at = reply.find(kName);
    WEIR_ASSERT(at != std::string::npos);
    return reply.substr(at + kName.size(), reply.find(',', at) - at - kName.size());
  }

  // The third integer of the answer.
  std::string remaining_by_resp(std::string_view rule) {
    Connection asker(resp_, now_);
    asker.say("WEIR.LOOK " + std::string(rule) + " k\r\n", now_);
    std::string reply = asker.take_heard();
    WEIR_ASSERT(reply.starts_with("*5\r\n"));
    for (int line = 0; line < 3; ++line) reply.erase(0, reply.find('\n') + 1);
    return reply.substr(1, reply.find('\r') - 1);
  }

  static HttpNode::Options options(LoginGuard& logins) {
    HttpNode::Options options;
    options.logins = &logins;
    return options;
  }

  Instant now_ = kStart;
  const KeyHasher hasher_{HashSecret()};
  std::unique_ptr<MemoryStore> memory_ = make_memory_store({.max_keys = 1024}, kStart);
  Traffic traffic_;
  Engine engine_{*memory_, hasher_, traffic_.add_core()};
  LateFleet shared_{engine_, now_, make_memory_store({.max_keys = 1024}, kStart)};
  LateStore& store_ = shared_.late;
  BlockList blocks_{hasher_};
  FakeDesk desk_;
  LoginGuard logins_{hasher_};
  HttpNode http_node_{options(logins_)};
  HttpDoor http_{http_node_, engine_, blocks_, make_rules(5)};
  RespNode resp_node_{{.version = {}, .access = {}, .logins = &logins_}, traffic_};
  RespDoor resp_{resp_node_, engine_, blocks_, make_rules(5)};
  std::array<Client, 4> clients_;  // of HTTP and of RESP in turns
};

}  // namespace
}  // namespace weir

// Steps: what happens, how many bytes are said, and these bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  weir::Node node;
  while (input.size() >= 2) {
    const auto what = static_cast<std::uint8_t>(input[0]);
    const auto length = static_cast<std::uint8_t>(input[1]);
    const std::string_view bytes = input.substr(2, length);
    input.remove_prefix(2 + bytes.size());
    node.step(what, bytes);
  }
  node.end();
  return 0;
}
