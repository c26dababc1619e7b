#include "engine/shared/shared_rules.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/packed.h"

namespace weir {
namespace {

constexpr char kVersion = '1';

}  // namespace

std::optional<SharedHead> SharedRules::offer(std::string bytes, Duration patience) {
  std::unique_lock lock(mutex_);
  const SharedHead mine{.number = std::min(known_.head.number + 1, kNumberMax),
                        .digest = XXH3_64bits(bytes.data(), bytes.size())};
  pending_ = {.head = mine, .bytes = std::move(bytes)};
  is_alone_ = false;
  if (!changed_.wait_for(lock, patience, [this] { return !pending_; })) {
    is_alone_ = true;
  } else if (!was_told_) {
    return std::nullopt;
  }
  return mine;
}

std::optional<SharedRules::News> SharedRules::news() {
  const std::scoped_lock lock(mutex_);
  if (wanted().head == judged_) return std::nullopt;
  return News{.version = wanted(),
              .has_replaced = std::exchange(has_replaced_, false),
              .has_skipped = wanted().head.number > judged_.number + 1};
}

SharedRules::Version SharedRules::current() const {
  const std::scoped_lock lock(mutex_);
  return wanted();
}

void SharedRules::judge(const SharedHead& version, std::string why_not) {
  const std::scoped_lock lock(mutex_);
  why_not.resize(std::min(why_not.size(), kWhyMax));
  judged_ = version;
  judged_why_not_ = std::move(why_not);
  if (!judged_why_not_.empty() && pending_ && pending_->head == version) pending_.reset();
  changed_.notify_all();
}

SharedRules::Said SharedRules::say() {
  const std::scoped_lock lock(mutex_);
  PackedWriter word;
  word.version(kVersion).number(judged_.number).hash(judged_.digest).text(judged_why_not_);
  said_ = pending_ ? pending_ : is_lost_ ? std::optional(known_) : std::nullopt;
  return {.word = word.take(), .known = known_.head, .offer = said_, .wants_nodes = waiting_ > 0};
}

void SharedRules::hear(Version there, const std::vector<Word>& nodes, Instant now) {
  bool has_news = false;
  {
    const std::scoped_lock lock(mutex_);
    learn(std::move(there));
    if (!nodes.empty()) {
      note(nodes);
      heard_ = now;
    }
    has_news = wanted().head != judged_;
    changed_.notify_all();
  }
  if (has_news) on_news_(now);
}

// An offer from say() may have been given up since; it still counts if Redis has it.
void SharedRules::learn(Version there) {
  if (said_ && there.head == said_->head) there = std::move(*said_);
  said_.reset();
  is_lost_ = there.head.number < known_.head.number;
  if (is_lost_ || there.head == known_.head) return;
  if (pending_) {
    was_told_ = there.head == pending_->head;
    has_replaced_ = is_alone_ && !was_told_;
    pending_.reset();
  }
  known_ = std::move(there);
}

void SharedRules::note(const std::vector<Word>& nodes) {
  nodes_.clear();
  for (const auto& [name, word] : nodes) {
    Node node{.name = std::string(name), .judged = {}, .why_not = {}};
    PackedReader in(word);
    in.version(kVersion);
    SharedHead judged;
    judged.number = in.number(kNumberMax);
    judged.digest = in.hash();
    const std::string_view why_not = in.text(kWhyMax);
    if (in.is_whole()) {
      node.judged = judged;
      node.why_not = why_not;
    }
    nodes_.push_back(std::move(node));
  }
}

std::string SharedRules::why_not(const Node& node) const {
  if (node.name == node_) return wanted().head == judged_ ? judged_why_not_ : "it is taking them";
  if (pending_) return "it has not heard of them: Redis is away, or does not take them";
  if (known_.head.number == 0) return {};
  if (!node.judged) return "it takes no rules of other nodes: an nginx, or another build of Weir";
  return *node.judged == known_.head ? node.why_not : "it has not taken them yet";
}

RuleHold SharedRules::hold_now() const {
  RuleHold hold{.version = wanted().head.number, .is_told = !pending_, .heard = heard_};
  for (const Node& node : nodes_) {
    hold.nodes.push_back({.name = node.name, .why_not = why_not(node)});
  }
  if (std::ranges::count(nodes_, node_, &Node::name) == 0) {
    hold.nodes.push_back({.name = node_, .why_not = why_not({.name = node_})});
  }
  return hold;
}

RuleHold SharedRules::hold() const {
  const std::scoped_lock lock(mutex_);
  return hold_now();
}

bool SharedRules::have_all_judged() const {
  return std::ranges::all_of(nodes_, [this](const Node& node) {
    return node.name == node_ || !node.judged || *node.judged == known_.head;
  });
}

// A list of nodes older than the wait may lack a node that has come since.
RuleHold SharedRules::await_nodes(Duration patience) {
  std::unique_lock lock(mutex_);
  ++waiting_;
  const Instant before = heard_;
  changed_.wait_for(lock, patience,
                    [&] { return pending_ || (heard_ != before && have_all_judged()); });
  --waiting_;
  return hold_now();
}

}  // namespace weir
