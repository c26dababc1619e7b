// What the model of leases does by chance (leases.pml), played on the script in a real Redis and on
// LeasedKey. After each step Redis has left, and nodes hold, what the model says.

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "redis/script_redis.h"
#include "store/redis/leased/leased_key.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::kStart;
using testing::script;
using testing::stored;

constexpr Duration kTick = 1s;

class World {
 public:
  void play(const std::string& step, std::istringstream& words) {
    if (step == "tick") now_ += kTick;
    if (step == "strict" || step == "late") {
      EXPECT_TRUE(script().spend({key_, &quota_, 1}, now_).allowed());
    }
    if (step == "tear") replica_ = stored(key_);
    if (step == "failover") fail_over();
    std::size_t index = 0;
    std::int64_t units = 0;
    if (words >> index) {
      words >> units;
      words.clear();
      play(step, nodes_.at(index), units, words);
    }
    words.clear();
  }

  std::int64_t left() const { return script().look({key_, &quota_, 0}, now_).remaining; }
  std::int64_t held() {
    std::int64_t units = 0;
    for (Node& node : nodes_) {
      node.key.drop_expired(now_);
      units += node.key.held();
    }
    return units;
  }

 private:
  struct Node {
    explicit Node(const Quota& quota) { key.set_terms(quota); }
    LeasedKey key;
    LeasedKey::Grant grant;
    LeasedKey::Returned back;
  };

  void fail_over() {
    const std::string name = script().name_of(key_);
    if (replica_.empty()) {
      script().redis.call({"DEL", name});
    } else {
      script().redis.call({"SET", name, replica_});
    }
  }

  void play(const std::string& step, Node& node, std::int64_t units, std::istringstream& words) {
    node.key.drop_expired(now_);
    if (step == "ask") node.grant = {.lease = {}, .asked_at = now_, .time_at_redis = {}};
    if (step == "lease") lease(node, units, words);
    if (step == "answer") {
      EXPECT_EQ(node.grant.lease.units, units);
      if (units > 0) node.key.receive(node.grant, now_);
    }
    if (step == "crash") node.key = Node(quota_).key;
    if (step == "spend") node.key.spend(1, now_);
    if (step == "return") {
      node.back = node.key.give_back(0, now_);
      EXPECT_EQ(node.back.units, units);
    }
    if (step == "back") {
      EXPECT_EQ(node.back.units, units);
      script().give_back({key_, &quota_, -units}, node.back.end_at_redis, 0, now_);
    }
  }

  // As many units, for as long, as the model has granted.
  void lease(Node& node, std::int64_t units, std::istringstream& words) {
    std::int64_t ticks = 0;
    words >> ticks;
    node.grant.time_at_redis = now_;
    if (units == 0) return;
    node.grant.lease = script().lease({key_, &quota_, units},
                                      {.share = 1, .needed = units, .length = ticks * kTick}, now_);
    EXPECT_EQ(node.grant.lease.units, units);
    EXPECT_EQ(node.grant.lease.length, ticks * kTick);
  }

  const Quota quota_ = *Quota::make({Algorithm::kFixedWindow, 8, 6 * kTick});
  const KeyHash key_ = script().fresh_key();
  Instant now_ = kStart;
  std::array<Node, 2> nodes_{Node(quota_), Node(quota_)};
  std::string replica_;
};

TEST(LeasesTraces, TheCodeDoesWhatTheModelDid) {
  std::ifstream file("testdata/leases_traces.txt");
  std::optional<World> world;
  std::string line;
  int compared = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    SCOPED_TRACE("line " + std::to_string(number) + ": " + line);
    std::istringstream words(line);
    std::string step;
    words >> step;
    if (step == "trace") {
      world.emplace();
      continue;
    }
    world->play(step, words);
    std::string what;
    std::int64_t expected = 0;
    while (words >> what >> expected) {
      ASSERT_EQ(what == "left" ? world->left() : world->held(), expected) << what;
      ++compared;
    }
  }
  EXPECT_GT(compared, 400);
}

}  // namespace
}  // namespace weir
