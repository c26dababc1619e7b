// Stay: what a request that passes holds and owes on its way through nginx.
//
//   decided ────── passed on ────── head of the response ────── body ────── end
//   looked at, counted              charged                                 counted no more
//   as under way,
//   waits for its turn
//
// Requests under way are counted until their memory is given back, however they end.
//
// A request that a rule may count by the response holds a share of the limit until then, as one
// that is under way. What the rule counts is charged when the response's head is known, before any
// of the body is sent: who reads slowly delays nothing. A request that ends without a response is
// charged at its end: nobody knows what it would have been, so it counts.
//
// Thread rule: a worker's only thread. Tested by stay_test.cc and tests/nginx/response_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/asks/asks.h"
#include "nginx/zone/concurrency.h"

namespace weir::nginx {

// A response before its body is known.
struct ResponseHead {
  static constexpr int kNoResponse = 499;

  int status = kNoResponse;
  // Else nobody has seen one: the client has left, or nginx says that the origin has not answered.
  bool is_known = true;
  // The value of the field, the first if there are several; empty if there is none.
  std::function<std::string_view(std::string_view name)> field = [](std::string_view) {
    return std::string_view();
  };
};

// What an origin or nginx's configuration says of a cost. Unlike a client, both may say that the
// work costs nothing.
std::int64_t cost_by(std::string_view text);

class Stay {
 public:
  // `rules`: the number of a set of the gateway. `under_way` outlives this.
  Stay(std::size_t rules, Concurrency& under_way) : rules_(rules), under_way_(under_way) {}
  // What it holds is others' from then on.
  ~Stay();
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  std::size_t rules() const { return rules_; }
  bool owes() const { return !charges_.empty() && !is_paid_; }
  bool is_empty() const { return charges_.empty() && held_.empty() && waiting_.empty(); }

  // REQUIRES: a request of this key has entered
  void hold(KeyHash key) { held_.push_back(key); }

  // Has a place among those who wait. REQUIRES: it has entered under this key
  void wait_at(KeyHash place) { waiting_.push_back(place); }
  // Waits no more.
  void go_on();

  // Owes what `ask` asks, if its rule counts the response. `look`: the number of its look among the
  // request's asks.
  void owe(const Ask& ask, std::size_t look);
  // What it has owed last holds a share. REQUIRES: it has entered under this key
  void reserve(KeyHash share) { charges_.back().share = share; }
  // Owes no more what the looks have denied.
  void forget_denied(const Asks& looks);

  // Asks for what the response makes due by the rules of today, and owes nothing from then on.
  void pay(const ResponseHead& response, const RuleSet& rules, Asks& asks);
  // Gives the shares back, when that is charged.
  void let_go();

 private:
  struct Charge {
    Ask ask;  // of its texts none, and no rule, which a request may change meanwhile
    std::size_t look;
    std::string rule;
    std::string key;
    std::string tier;
    std::optional<KeyHash> share{};
  };
  void leave(const Charge& charge);
  static bool counts(const ResponseCount& count, const ResponseHead& response);

  const std::size_t rules_;
  Concurrency& under_way_;
  std::vector<Charge> charges_;
  bool is_paid_ = false;
  std::vector<KeyHash> held_;
  std::vector<KeyHash> waiting_;
};

}  // namespace weir::nginx
