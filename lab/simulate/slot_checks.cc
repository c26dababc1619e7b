// Promises about slots on lease (docs/reference/slots-on-lease.md). A token is good while the node
// that gave it would accept its release. If that node died, the token is good until its lease would
// have ended, as its caller cannot know better.

#include <algorithm>
#include <map>
#include <string>

#include "simulate/judging.h"
#include "simulate/promises.h"
#include "store/redis/slots/slot_share.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// There are never more valid leased slots than the limit, each caller learns whether its slot was
// valid, and unused slots reach callers that want them.
class SlotsOnLease final : public Check {
 public:
  explicit SlotsOnLease(World& world)
      : Check(world), late_(world.scenario().loss > 0 ? seconds(1) : seconds(0)) {}
  std::string_view promise() const override { return "slots on lease"; }

  void asked(const Asked& asked) override {
    Token* const token = asked.parts.front().verb == Verb::kCommit ? find(asked) : nullptr;
    if (token == nullptr) return;
    ++token->releases;
    was_good_ = is_good(*token);
    if (!is_of(*token, asked)) token->was_good[asked.number] = was_good_;
  }

  void answered(const Answered& answered) override {
    const Asked& asked = answered.asked;
    if (!is_about(asked.parts.front().rule)) return;
    // Keys have two names, until the older secret comes to a Redis that had lost it.
    if (!world_.has_one_secret()) named_anew();
    if (asked.at < known_from_) return;
    if (asked.parts.front().verb == Verb::kCommit) return released(answered);
    const Answer& answer = answered.answers.front();
    Key& key = key_of(asked);
    const bool is_judged = answer.cause == Answer::Cause::kCounted && !answer.is_alone;
    if (!answered.token.empty() && answered.here && answer.mode == Mode::kLeased) {
      granted(answered, key);
    } else if (answer.allowed() || answered.is_unavailable || !is_judged) {
      key.denied.erase(asked.node);
    } else {
      denied(answered, key);
    }
  }

  void stops(std::size_t number) override {
    SimNode& node = *world_.node(number);
    const MachineClock& clock = world_.machine(number).clock;
    for (Instant at = world_.now(); at < world_.now() + SlotShare::kLength; at += kStep) {
      each([&](Key&, Token& token) {
        if (token.node != number || token.life != world_.life(number)) return;
        if (node.holds().has_slot(token.here, clock.at(at))) token.ends = at;
      });
    }
  }
  // Redis lends slots again whose leases it has lost, or whose end its clock has passed.
  void faulted(const Fault& fault) override {
    if (fault.kind != Fault::Kind::kEvict && !is_clock_step(fault)) return;
    named_anew();
    lent_again_until_ = world_.now() + SlotShare::kLength;
  }
  // Redis may have lost its leases, or lends under another name.
  void named_anew() override {
    known_from_ = world_.now();
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) keys_.forget_all(rule);
  }
  void look() override {
    each([&](Key&, Token& token) {
      if (!is_good(token)) return;
      if (world_.now() > token.granted + token.hold + slack(token)) {
        return fail(text_of(token) + "outlives its time");
      }
      const Duration ago = world_.now() - token.told_elsewhere;
      if (token.ends == Instant{} && ago > kToldWithin + late_ && world_.is_whole_for(ago)) {
        fail(text_of(token) + "is good, and was released elsewhere " + format_duration(ago) +
             " ago");
      }
    });
  }

 private:
  struct Token {
    std::uint64_t number = 0;  // of its request
    Part part{};
    HoldToken here;
    std::size_t node = 0;
    std::size_t life = 0;
    Instant granted{};
    Duration hold{0};
    int releases = 0;
    std::map<std::uint64_t, bool> was_good{};  // when other nodes were asked to release it
    Instant told_elsewhere = Instant::max();   // that it is released
    Instant ends{};                            // if its node is gone
  };
  struct Denied {
    Instant since;
    bool is_to_wait = false;  // for longer than until the next errand
  };
  struct Key {
    std::map<std::uint64_t, Token> tokens;
    std::map<std::size_t, Denied> denied;  // nodes that got none, while some were free
  };
  static constexpr Duration kStep = milliseconds(10);
  static constexpr Duration kToldWithin = milliseconds(1'500);
  static constexpr Duration kWithin = seconds(1);
  static constexpr Duration kBackWithin = SlotShare::kLength + seconds(2);

  bool is_about(std::uint32_t rule) const {
    return world_.rules()[rule].has_slots() && world_.mode_of(rule) == Mode::kLeased;
  }
  Key& key_of(const Asked& asked) {
    const Part& part = asked.parts.front();
    return keys_.at(part.rule, 0, part.key);
  }
  Token* find(const Asked& asked) {
    if (!is_about(asked.parts.front().rule)) return nullptr;
    auto& tokens = key_of(asked).tokens;
    const auto found = tokens.find(asked.work.number);
    return found == tokens.end() ? nullptr : &found->second;
  }
  template <typename Visit>
  void each(Visit visit) {
    for (std::uint32_t rule = 0; rule < world_.rules().size(); ++rule) {
      if (!is_about(rule)) continue;
      for (std::uint32_t number = 0; number < world_.keys(); ++number) {
        Key& key = keys_.at(rule, 0, number);
        for (auto& [of, token] : key.tokens) visit(key, token);
      }
    }
  }
  static Duration slack(const Token& token) { return milliseconds(2) + token.hold / 1000; }
  std::string text_of(const Token& token) {
    return "#" + std::to_string(token.number) + " of " + about(world_, token.part) + " ";
  }
  bool is_of(const Token& token, const Asked& asked) const {
    return asked.node == token.node && asked.life == token.life;
  }
  bool is_good(const Token& token) {
    SimNode* const node = world_.node(token.node);
    if (node == nullptr || world_.life(token.node) != token.life) {
      return world_.now() < token.ends;
    }
    return node->holds().has_slot(token.here, node->now());
  }
  std::int64_t good(Key& key) {
    return std::ranges::count_if(key.tokens,
                                 [&](const auto& token) { return is_good(token.second); });
  }
  std::int64_t limit_of(const Asked& asked) const {
    return world_.rules()[asked.parts.front().rule].quota.limit();
  }

  void granted(const Answered& answered, Key& key) {
    const Asked& asked = answered.asked;
    std::erase_if(key.tokens, [&](const auto& known) {
      const Token& token = known.second;
      return !is_good(token) && world_.now() > token.granted + 2 * token.hold + kBackWithin;
    });
    key.tokens[asked.number] = {.number = asked.number,
                                .part = asked.parts.front(),
                                .here = *answered.here,
                                .node = asked.node,
                                .life = asked.life,
                                .granted = answered.at,
                                .hold = asked.work.hold};
    key.denied.erase(asked.node);
    const bool stood_still = world_.machine(asked.node).frozen_until >= asked.at;
    if (!stood_still && !is_good(key.tokens[asked.number])) {
      return fail(text_of(key.tokens[asked.number]) + "was never good");
    }
    const std::int64_t sum = good(key);
    if (sum >= limit_of(asked)) key.denied.clear();
    if (sum <= limit_of(asked) || world_.now() < lent_again_until_) return;
    fail(about(world_, asked.parts.front()) + ": with #" + std::to_string(asked.number) + " " +
         std::to_string(sum) + " tokens are good, of " + std::to_string(limit_of(asked)));
  }

  // Unused slots reach callers that want them.
  void denied(const Answered& answered, Key& key) {
    const Asked& asked = answered.asked;
    if (good(key) >= limit_of(asked)) return key.denied.clear();
    Denied& denied = key.denied.try_emplace(asked.node, Denied{answered.at}).first->second;
    denied.is_to_wait |= answered.answers[0].decision.retry_after > SlotShare::kPauseAtPart;
    const Duration lasts = answered.at - denied.since;
    const Duration within = (denied.is_to_wait ? kBackWithin : kWithin) + late_;
    const Duration whole = lasts + (denied.is_to_wait ? seconds(0) : SlotShare::kLength);
    if (lasts <= within || !world_.is_whole_for(whole)) return;
    fail(about(world_, asked.parts.front()) + ": node " + std::to_string(asked.node) +
         " has got no slot for " + format_duration(lasts) + ", and " + std::to_string(good(key)) +
         " of " + std::to_string(limit_of(asked)) + " are in use");
  }

  // The answer says whether the token was still good.
  void released(const Answered& answered) {
    const Asked& asked = answered.asked;
    Token* const token = find(asked);
    if (token == nullptr || answered.is_unavailable) return;
    const bool is_charged = answered.committed == HoldingStore::Commit::kCharged;
    // Redis takes the time from the core to it for a difference of their clocks.
    const Duration trip = is_of(*token, asked) ? Duration(0) : world_.patience();
    if (is_charged && asked.at > token->granted + token->hold + slack(*token) + trip) {
      return fail(text_of(*token) + "was released after its end");
    }
    if (is_of(*token, asked)) {
      if (is_charged == was_good_ && !(is_charged && is_good(*token))) return;
      return fail(text_of(*token) + (is_charged ? "was released, and was not good"
                                                : "is unknown, and has not ended"));
    }
    if (is_charged) token->told_elsewhere = std::min(token->told_elsewhere, answered.at);
    const bool was_good = token->was_good[asked.number] && is_good(*token);
    const bool is_first = token->releases == 1;
    const bool is_near_end = answered.at + slack(*token) > token->granted + token->hold;
    if (!is_charged && was_good && is_first && !is_near_end && world_.is_whole_for(kBackWithin)) {
      fail(text_of(*token) + "is unknown elsewhere, and has not ended");
    }
    const bool is_over = token->ends != Instant{} && world_.is_whole_for(kBackWithin);
    if (is_charged && is_over) fail(text_of(*token) + "was released after its node's lease");
  }

  const Duration late_;  // a lost packet delays an errand
  Instant known_from_{};
  Instant lent_again_until_{};
  bool was_good_ = false;  // for a release at its own node, which answers at once
  ByKey<Key> keys_;
};

}  // namespace

void add_slot_checks(World& world, Checks& checks) { add<SlotsOnLease>(world, checks); }

}  // namespace weir::sim
