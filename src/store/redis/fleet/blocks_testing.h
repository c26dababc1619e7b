// BlocksWorld: nodes block and lift at random while their Redis comes and goes. It says whether
// they agree when Redis is back.
//
// Redis is a type with
//   resp::Reply beat(const std::vector<std::string>& words, Instant now)
//       what the blocks' field of beat.lua answers
//   void lose()     all that it has
//   void forget()   of what it has heard last, as if it came back from a copy
//
// Thread rule: one thread. Tested by blocks_agree_test.cc, which uses it.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/block_list.h"
#include "proto/resp/reply.h"
#include "store/redis/fleet/beat_fields.h"

namespace weir::testing {

inline constexpr auto kFleet = BlockList::Audience::kFleet;

struct BlocksNode {
  explicit BlocksNode(const std::string& name, Duration ahead = Duration(0))
      : skew(ahead), field(name, blocks) {
    blocks.share(kFleet);
  }

  const Duration skew;  // of the node's clock
  KeyHasher hasher{HashSecret{}};
  BlockList blocks{hasher, 64};
  BlocksField field;
  bool is_cut_off = false;
};

struct BlocksPlan {
  unsigned seed;
  Duration step_max;  // between two events
  Duration skew_max{0};
};

template <typename Redis>
class BlocksWorld {
 public:
  static constexpr int kNodes = 3;
  static constexpr int kKeys = 4;

  BlocksWorld(Redis& redis, const BlocksPlan& plan, Instant now)
      : redis_(redis), plan_(plan), random_(plan.seed), now_(now) {
    for (int i = 0; i < kNodes; ++i) {
      nodes_.push_back(
          std::make_unique<BlocksNode>(new_name(), any(plan.skew_max * 2) - plan.skew_max));
    }
  }

  // One random event.
  void step() {
    now_ += Duration(1'000) + any(plan_.step_max);
    BlocksNode& node = *nodes_[random_() % kNodes];
    switch (random_() % 12) {
      case 0: is_away_ = !is_away_; break;
      case 1: node.is_cut_off = !node.is_cut_off; break;
      case 2: redis_.lose(); break;
      case 3: redis_.forget(); break;
      case 4: restart(random_() % kNodes); break;
      case 5:
      case 6: act(node, BlockReason::kManual); break;
      case 7: act(node, BlockReason::kDenied); break;
      case 8: act(node, BlockReason::kLifted); break;
      default: beat(node);
    }
  }

  // All nodes come back, in any order, and beat twice.
  void settle() {
    is_away_ = false;
    for (int round = 0; round < 2; ++round) {
      std::ranges::shuffle(nodes_, random_);
      for (auto& node : nodes_) {
        node->is_cut_off = false;
        beat(*node);
      }
    }
  }

  void expect_agreement() const {
    for (int i = 0; i < kKeys; ++i) {
      const std::string key = "k" + std::to_string(i);
      const bool expected = is_blocked(key);
      for (const auto& node : nodes_) {
        const Instant its_now = now_ + node->skew;
        EXPECT_EQ(node->blocks.until("r", key, its_now).has_value(), expected)
            << "seed " << plan_.seed << ", " << key;
      }
    }
  }

 private:
  std::string new_name() { return "node" + std::to_string(names_++); }
  Duration any(Duration most) {
    return Duration(most.count() == 0 ? 0 : static_cast<std::int64_t>(random_()) % most.count());
  }

  void act(BlocksNode& node, BlockReason reason) {
    using namespace std::chrono_literals;
    const std::string key = "k" + std::to_string(random_() % kKeys);
    const Instant now = now_ + node.skew;
    if (reason == BlockReason::kLifted) {
      node.blocks.lift("r", key, now);
    } else {
      const bool by_hand = reason == BlockReason::kManual;
      node.blocks.add({.rule = "r",
                       .key = key,
                       .since = now,
                       .until = now + (by_hand ? 1h + any(2h) : 3h),
                       .reason = reason,
                       .by = by_hand ? "node" + std::to_string(random_()) : ""},
                      now);
    }
    note(node, key);
  }

  // Records every act on the key that this node knows.
  void note(BlocksNode& node, const std::string& key) {
    const Instant now = now_ + node.skew;
    for (auto known : {node.blocks.list("r", 99, now), node.blocks.lifts(now)}) {
      for (Block& made : known) {
        if (made.key != key) continue;
        made.until -= node.skew;
        acts_.push_back(std::move(made));
      }
    }
  }

  // By the newest act alone.
  bool is_blocked(const std::string& key) const {
    std::optional<Block> by_hand;
    std::optional<Block> by_rule;
    const auto order = [](const std::optional<Block>& made) {
      return made ? std::tuple(made->since, is_lift(*made), made->by)
                  : std::tuple(Instant::min(), false, std::string());
    };
    for (const Block& made : acts_) {
      auto& newest = is_by_hand(made) ? by_hand : by_rule;
      if (made.key == key && order(made) > order(newest)) newest = made;
    }
    const bool holds_by_hand = by_hand && !is_lift(*by_hand) && by_hand->until > now_;
    const bool holds_by_rule = by_rule && by_rule->until > now_ &&
                               std::get<0>(order(by_rule)) > std::get<0>(order(by_hand));
    return holds_by_hand || holds_by_rule;
  }

  void beat(BlocksNode& node) {
    if (is_away_ || node.is_cut_off) return;
    int times = 0;
    do {
      ASSERT_LT(++times, 20);
      std::vector<std::string> words;
      node.field.say(words, now_ + node.skew);
      ASSERT_EQ(node.field.hear(redis_.beat(words, now_), now_ + node.skew), "");
    } while (node.field.has_more());
  }

  // The node keeps its state file.
  void restart(std::size_t number) {
    auto& old = nodes_[number];
    auto next = std::make_unique<BlocksNode>(new_name(), old->skew);
    const Instant now = now_ + old->skew;
    for (const auto& known :
         {old->blocks.list("", BlockList::kBlocksMax, now), old->blocks.lifts(now)}) {
      for (const Block& made : known) next->blocks.learn(made, std::nullopt, now);
    }
    next->is_cut_off = old->is_cut_off;
    old = std::move(next);
  }

  Redis& redis_;
  const BlocksPlan plan_;
  std::mt19937 random_;
  Instant now_;
  int names_ = 0;
  bool is_away_ = false;
  std::vector<std::unique_ptr<BlocksNode>> nodes_;
  std::vector<Block> acts_;
};

}  // namespace weir::testing
