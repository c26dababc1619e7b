// The clients of store/redis/client, through the real event loop, at real servers: alone,
// behind a sentinel, in a cluster; gone, stopped, come back, turned into replicas.

#include "store/redis/client/redis_client.h"
#include "store/redis/client/redis_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "net/core.h"
#include "net/tls/tls_testing.h"
#include "redis/redis_process.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Words = std::vector<std::string>;
using Phase = LinkState::Phase;

constexpr auto kPatience = std::chrono::seconds(20);  // of a test that fails

// One command and what became of it, for a thread that waits.
class Question final : public RedisCall {
 public:
  explicit Question(Words text) : words_of_it_(std::move(text)) {
    for (const auto& word : words_of_it_) views_.push_back(word);
  }
  std::span<const std::string_view> words() const { return views_; }
  std::string answer() { return answer_.get_future().get(); }
  void refuse() { answer_.set_value("refused"); }

  void replied(const resp::Reply& reply, Instant) noexcept override {
    const auto number = reply.integer();
    answer_.set_value(number ? std::to_string(*number) : std::string(reply.text()));
  }
  void failed(RedisFailure, Instant) noexcept override { answer_.set_value("failed"); }

 private:
  const Words words_of_it_;
  std::vector<std::string_view> views_;
  std::promise<std::string> answer_;
};

// A core with a client on a thread of its own.
class Node final : public RedisListener {
 public:
  explicit Node(const std::string& url, const TlsTrustFiles& trust = {}) {
    const auto trusted = TlsTrust::load(trust);
    core_.dialer().use_tls(*trusted);
    auto parsed = RedisUrl::parse(url);
    client_ =
        make_redis_client(*parsed, {.reactor = core_.loop(), .dialer = core_.dialer(), .seed = 1},
                          *this, core_.loop().now());
    thread_ = std::thread([this] { core_.run({}); });
  }
  ~Node() {
    core_.loop().post([this] {
      client_.reset();
      core_.drain(Duration::zero());
    });
    thread_.join();
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::string ask(const Words& words, const std::string& key = {},
                  Duration patience = std::chrono::seconds(10)) {
    Question question(words);
    core_.loop().post([&] {
      const Instant now = core_.loop().now();
      const auto refusal =
          client_->send(question.words(), cluster_slot(key), now + patience, question, now);
      if (refusal) question.refuse();
    });
    return question.answer();
  }

  // Until the answer is, or contains, `expected`.
  bool comes_to_say(const Words& words, const std::string& expected, const std::string& key = {}) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      if (ask(words, key, milliseconds(200)).find(expected) != std::string::npos) return true;
    }
    return false;
  }

  // Waits for the state; returns its reason.
  std::string becomes(Phase phase) {
    auto lock = std::unique_lock(mutex_);
    const bool came = changed_.wait_for(lock, kPatience, [&] { return state_.phase == phase; });
    return came ? state_.reason : "it stayed: " + state_.reason;
  }
  std::size_t changes() {
    const auto lock = std::scoped_lock(mutex_);
    return changes_;
  }

 private:
  void redis_changed(const LinkState& state, Instant) override {
    const auto lock = std::scoped_lock(mutex_);
    state_ = state;
    ++changes_;
    changed_.notify_all();
  }

  SystemClock clock_;
  ConnectionBudget budget_{1};
  Core core_{clock_, budget_};
  std::unique_ptr<RedisClient> client_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  LinkState state_;
  std::size_t changes_ = 0;
  std::thread thread_;
};

std::string at(const RedisProcess& server) { return "127.0.0.1:" + std::to_string(server.port()); }

TEST(SingleRedis, IsJoinedWhenItComesAndWheneverItComesBack) {
  RedisProcess server({});
  Node node("redis://" + at(server) + "/3");
  EXPECT_THAT(node.becomes(Phase::kDisconnected), HasSubstr("Connection refused"));
  EXPECT_EQ(node.ask({"PING"}), "refused");
  server.start();
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  EXPECT_EQ(node.ask({"SET", "k", "v"}), "OK");
  EXPECT_EQ(server.ask("-n 3 GET k"), "v");
  EXPECT_THAT(server.ask("CLIENT LIST"), HasSubstr("name=weir"));

  server.kill();
  EXPECT_NE(node.becomes(Phase::kDisconnected), "");
  server.start();
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  EXPECT_EQ(node.ask({"GET", "k"}), "");

  server.send(SIGSTOP);
  EXPECT_EQ(node.ask({"PING"}, {}, milliseconds(20)), "failed");
  EXPECT_THAT(node.becomes(Phase::kDisconnected), HasSubstr("stopped answering"));
  server.send(SIGCONT);
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  EXPECT_EQ(node.ask({"PING"}), "PONG");
}

TEST(SingleRedis, IsLeftWhenItBecomesAReplica) {
  RedisProcess server({});
  server.start();
  Node node("redis://" + at(server));
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  server.ask("REPLICAOF 127.0.0.1 1");
  EXPECT_THAT(node.ask({"SET", "k", "v"}), HasSubstr("READONLY"));
  EXPECT_THAT(node.becomes(Phase::kDisconnected), HasSubstr("replica"));
  server.ask("REPLICAOF NO ONE");
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
}

TEST(SingleRedis, WantsTheRightPasswordAndSaysSo) {
  RedisProcess server({"--requirepass", "pw", "--user", "ann", "on", ">a@b", "~*", "+@all"});
  server.start();
  EXPECT_THAT(Node("redis://" + at(server)).becomes(Phase::kDisconnected),
              HasSubstr("wants a password"));
  Node wrong("redis://:hunter2@" + at(server));
  const auto why = wrong.becomes(Phase::kDisconnected);
  EXPECT_THAT(why, HasSubstr("password is wrong"));
  EXPECT_THAT(why, testing::Not(HasSubstr("hunter2")));
  EXPECT_EQ(wrong.changes(), 1u);
  EXPECT_EQ(Node("redis://:pw@" + at(server)).becomes(Phase::kConnected), "");
  EXPECT_EQ(Node("redis://ann:a%40b@" + at(server)).becomes(Phase::kConnected), "");
}

TEST(SingleRedis, IsReachedThroughTls) {
  const TestCertificates certificates;
  const auto files = const_cast<TestCertificates&>(certificates).make("localhost");
  const auto port = free_port();
  RedisProcess server({"--tls-port", std::to_string(port), "--tls-cert-file", files.certificate,
                       "--tls-key-file", files.key, "--tls-ca-cert-file",
                       certificates.path("ca.pem"), "--tls-auth-clients", "no"});
  server.start();
  const TlsTrustFiles trust{.authorities = certificates.path("ca.pem")};
  Node node("rediss://localhost:" + std::to_string(port), trust);
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  EXPECT_EQ(node.ask({"SET", "k", std::string(100'000, 'x')}), "OK");
  EXPECT_EQ(node.ask({"GET", "k"}).size(), 100'000u);
  EXPECT_THAT(Node("rediss://localhost:" + std::to_string(port)).becomes(Phase::kDisconnected),
              HasSubstr("certificate"));
}

TEST(SentinelRedis, IsFollowedThroughAFailover) {
  RedisProcess master({});
  master.start();
  RedisProcess replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  replica.start();
  RedisProcess sentinel({}, "sentinel monitor m 127.0.0.1 " + std::to_string(master.port()) +
                                " 1\nsentinel down-after-milliseconds m 500\n"
                                "sentinel failover-timeout m 5000\nrequirepass s");
  sentinel.start();
  // The first does not exist; the next does not know the password of the last.
  Node node("redis-sentinel://127.0.0.1:" + std::to_string(free_port()) + "," + at(sentinel) +
            "/m?sentinel_password=s");
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  EXPECT_EQ(node.ask({"SET", "k", "v"}), "OK");
  ASSERT_TRUE(sentinel.comes_to_say("-a s SENTINEL REPLICAS m", std::to_string(replica.port())));
  ASSERT_TRUE(replica.comes_to_say("GET k", "v"));

  master.kill();
  EXPECT_NE(node.becomes(Phase::kDisconnected), "");
  EXPECT_EQ(node.becomes(Phase::kConnected), "");
  EXPECT_EQ(node.ask({"SET", "k", "w"}), "OK");
  EXPECT_EQ(replica.ask("GET k"), "w");
}

TEST(SentinelRedis, SaysThatTheMasterIsUnknown) {
  RedisProcess sentinel({}, "sentinel monitor m 127.0.0.1 1 1");
  sentinel.start();
  EXPECT_THAT(Node("redis-sentinel://" + at(sentinel) + "/other").becomes(Phase::kDisconnected),
              HasSubstr("it knows no master \"other\""));
  EXPECT_THAT(Node("redis://" + at(sentinel)).becomes(Phase::kDisconnected),
              HasSubstr("redis-sentinel://"));
}

// Three masters, each with a third of the slots.
class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    constexpr std::array kRanges = {"0 5461", "5462 10922", "10923 16383"};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto bus = std::to_string(free_port());
      nodes[i] = std::make_unique<RedisProcess>(Words{"--cluster-enabled", "yes", "--cluster-port",
                                                      bus, "--cluster-node-timeout", "1000",
                                                      "--cluster-require-full-coverage", "no"});
      nodes[i]->start();
      nodes[i]->ask("CLUSTER ADDSLOTSRANGE " + std::string(kRanges[i]));
      nodes[0]->ask("CLUSTER MEET 127.0.0.1 " + std::to_string(nodes[i]->port()) + " " + bus);
    }
    for (const auto& node : nodes) {
      EXPECT_TRUE(node->comes_to_say("CLUSTER INFO", "cluster_slots_ok:16384"));
      EXPECT_TRUE(node->comes_to_say("CLUSTER INFO", "cluster_state:ok"));
    }
  }

  std::string id(std::size_t node) { return nodes[node]->ask("CLUSTER MYID"); }

  std::array<std::unique_ptr<RedisProcess>, 3> nodes;
};

TEST_F(ClusterTest, IsUsedWholeAndFollowedThroughAMigration) {
  Node client("redis-cluster://" + at(*nodes[0]));
  EXPECT_EQ(client.becomes(Phase::kConnected), "");
  for (const std::string key : {"a", "b", "c", "foo"}) {
    EXPECT_EQ(client.ask({"SET", key, "v" + key}, key), "OK") << key;
    EXPECT_EQ(client.ask({"GET", key}, key), "v" + key);
  }
  // A wrong slot is put right by the cluster.
  EXPECT_EQ(client.ask({"GET", "foo"}, "a"), "vfoo");

  // foo's slot, 12182, goes from the third to the first: while it moves, then for good.
  nodes[0]->ask("CLUSTER SETSLOT 12182 IMPORTING " + id(2));
  nodes[2]->ask("CLUSTER SETSLOT 12182 MIGRATING " + id(0));
  EXPECT_EQ(client.ask({"GET", "foo"}, "foo"), "vfoo");          // still there
  EXPECT_EQ(client.ask({"SET", "{foo}new", "w"}, "foo"), "OK");  // already here: ASK
  EXPECT_EQ(client.ask({"GET", "{foo}new"}, "foo"), "w");
  // Two keys, one here and one there: the command goes again until the deadline.
  EXPECT_EQ(client.ask({"MGET", "foo", "{foo}new"}, "foo", milliseconds(50)), "failed");
  nodes[2]->ask("MIGRATE 127.0.0.1 " + std::to_string(nodes[0]->port()) + " foo 0 5000");
  for (const auto& node : nodes) node->ask("CLUSTER SETSLOT 12182 NODE " + id(0));
  EXPECT_EQ(client.ask({"GET", "foo"}, "foo"), "vfoo");  // MOVED
  EXPECT_EQ(client.ask({"STRLEN", "{foo}new"}, "foo"), "1");

  // Without a master, its slots alone are away.
  nodes[1]->kill();
  EXPECT_NE(client.becomes(Phase::kDisconnected), "");
  EXPECT_TRUE(client.comes_to_say({"GET", "foo"}, "vfoo", "foo"));
  nodes[1]->start();
  EXPECT_EQ(client.becomes(Phase::kConnected), "");
}

}  // namespace
}  // namespace weir
