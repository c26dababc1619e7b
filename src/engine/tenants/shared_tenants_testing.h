// Nodes that share a table of tenants through a model of beat.lua.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/tenants/shared_tenants.h"

namespace weir::testing {

using namespace std::chrono_literals;
using Outcome = SharedTenants::Outcome;
using Kind = SharedTenants::Step::Kind;

struct ModelRedis {
  struct Bucket {
    std::uint64_t place;
    std::string bytes;
  };
  using Rows = std::map<std::uint16_t, Bucket>;

  SharedHead head;
  HashSecret secret;
  Rows rows;
  Rows aside;
  const void* who_puts_aside = nullptr;
  int refused = 0;
  int refused_max = 20;  // then the node that puts aside has long been silent

  bool do_step(const SharedTenants::Step& step, const void* who) {
    if (step.kind == Kind::kDrop) {
      if (who_puts_aside == who) aside.clear();
      if (who_puts_aside == who) who_puts_aside = nullptr;
      return true;
    }
    if (step.from != head) return false;
    if (step.kind == Kind::kChange && is_torn()) return false;
    if (step.kind != Kind::kChange) {
      if (step.aside == 0 && (who_puts_aside == nullptr || who_puts_aside == who)) {
        aside.clear();
        who_puts_aside = who;
      }
      if (who_puts_aside != who || aside.size() < step.aside) {
        if (++refused == refused_max) who_puts_aside = nullptr;
        return false;
      }
      refused = 0;
    }
    Rows& to = step.kind == Kind::kChange ? rows : aside;
    for (const std::uint16_t bucket : step.buckets) {
      to[bucket] = {step.to.head.number * TenantTable::kBuckets + bucket,
                    step.to.table->bucket_bytes(bucket)};
    }
    if (step.kind == Kind::kPutAside) return true;
    if (step.kind == Kind::kSwitch) {
      rows = std::exchange(aside, {});
      who_puts_aside = nullptr;
    }
    head = step.to.head;
    secret = step.to.table->secret();
    return true;
  }

  bool is_torn() const { return head.number > 0 && rows.empty(); }
  SharedTenants::Heard answer(const SharedTenants::Said& said, const void* who) {
    SharedTenants::Heard heard;
    if (said.step) heard.has_done = do_step(*said.step, who);
    heard.head = head;
    heard.is_torn = is_torn();
    if (head == said.known || heard.is_torn) return heard;
    heard.secret = secret;
    std::map<std::uint64_t, std::uint16_t> by_place;
    for (const auto& [number, bucket] : rows) {
      if (bucket.place > said.place) by_place[bucket.place] = number;
    }
    for (const auto& [place, number] : by_place) {
      if (heard.buckets.size() == SharedTenants::kPage) {
        heard.is_all = false;
        break;
      }
      heard.place = place;
      heard.buckets.emplace_back(number, rows[number].bytes);
    }
    return heard;
  }
};

inline HashSecret secret_of(int number) {
  HashSecret secret;
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) {
    secret.bytes[i] = std::byte(i * 5 + static_cast<std::size_t>(number));
  }
  return secret;
}

// Keeps its table like cli/node/tenant_keeper.h.
class Node {
 public:
  Node(ModelRedis& redis, int number)
      : redis_(redis), table_(std::make_shared<const TenantTable>(secret_of(number))) {}
  Node(ModelRedis& redis, int number, const SharedTenants::Version& kept) : Node(redis, number) {
    table_ = kept.table;
    shared.begin(kept);
  }

  void beat() {
    shared.hear(redis_.answer(shared.say(), this), Instant{});
    follow();
  }
  void follow() {
    auto news = shared.news();
    if (!news) return;
    const auto table = table_of(*news, table_);
    if (table != nullptr) table_ = table;
    shared.take(news->head, table);
    ++followed;
  }

  // Offers one row, and does not wait.
  std::optional<Outcome> begin(const std::string& key, std::int64_t limit) {
    TenantTable::Edits edits;
    edits.rows.push_back({.key = table_->hash(key), .limit = limit});
    auto edited = table_->edited(std::move(edits));
    const SharedHead head{shared.next_number(), edited.table->digest()};
    return shared.begin_offer({{head, edited.table}, edited.changed});
  }
  // Puts rows "PREFIX0" and so on, with that limit.
  Outcome put(const std::string& prefix, int rows, std::int64_t limit, Duration patience = 10s) {
    TenantTable::Edits edits;
    for (int i = 0; i < rows; ++i) {
      edits.rows.push_back({.key = table_->hash(prefix + std::to_string(i)), .limit = limit});
    }
    std::ranges::sort(edits.rows, std::less(), &TenantTable::Row::key);
    auto edited = table_->edited(std::move(edits));
    if (patience == 0s) shared.fail();
    const SharedHead head{shared.next_number(), edited.table->digest()};
    const Outcome outcome =
        shared.offer({{head, edited.table}, edited.changed, replaces_all}, patience);
    if (shared.known() == head) table_ = edited.table;
    return outcome;
  }
  // The same, while all of these nodes beat.
  Outcome put(const std::vector<Node*>& beating, const std::string& prefix, int rows,
              std::int64_t limit) {
    auto outcome = std::async(std::launch::async, [&] { return put(prefix, rows, limit); });
    while (outcome.wait_for(1us) != std::future_status::ready) {
      for (Node* const node : beating) {
        if (node == this) shared.hear(redis_.answer(shared.say(), this), Instant{});
        if (node != this) node->beat();
      }
    }
    return outcome.get();
  }
  std::int64_t limit(const std::string& key) const {
    const auto terms = table_->find(key);
    return terms ? terms->limit : -1;
  }
  const TenantTable& table() const { return *table_; }

  bool replaces_all = false;  // in put()
  std::atomic<int> told{0};
  SharedTenants shared{[this](Instant) { ++told; }};
  int followed = 0;

 private:
  ModelRedis& redis_;
  TenantTablePtr table_;
};

class SharedTenantsTest : public ::testing::Test {
 protected:
  // Beats until Redis has a part of the first node's large table. Returns the offer's outcome.
  std::future<Outcome> begin_to_put_aside() {
    auto outcome = std::async(std::launch::async, [&] { return one_.put("k", 3000, 2); });
    while (redis_.aside.empty()) {
      one_.shared.hear(redis_.answer(one_.shared.say(), &one_), Instant{});
    }
    EXPECT_LT(redis_.aside.size(), 2000u);
    return outcome;
  }

  void settle(const std::vector<Node*>& nodes) {
    for (int i = 0; i < 3000; ++i) {
      for (Node* const node : nodes) node->beat();
      const bool is_over = std::ranges::all_of(nodes, [&](Node* node) {
        return node->shared.known() == redis_.head && !node->shared.has_more();
      });
      if (is_over) break;
    }
    for (Node* const node : nodes) {
      EXPECT_EQ(node->shared.known(), redis_.head);
      if (redis_.head.number == 0) continue;
      EXPECT_EQ(node->table().digest(), redis_.head.digest);
    }
  }

  ModelRedis redis_;
  Node one_{redis_, 1};
  Node two_{redis_, 2};
  const std::vector<Node*> both_ = {&one_, &two_};
};

}  // namespace weir::testing
