// Stay: what a request that passes holds and owes on its way through nginx.
//
//   decided ────── passed on ────── head of the response ────── body ────── end
//   looked at, counted              charged, unless the body    charged     counted no more
//   as under way,                   says the cost
//   waits for its turn
//
// Requests under way are counted until their memory is given back, however they end.
//
// A request that a rule may count by the response holds units of the limit until then: the rule's
// estimate, or what its body says. The cost is charged when the response's head is known, before
// any of the body is sent: a client that reads slowly delays nothing. A request that ends without a
// response is charged at its end: nobody knows what it would have been, so it counts.
//
// Where the body says the cost, it is read on its way, and charged when its end is there. If the
// client leaves before, it pays what was said so far. A body that says nothing, or cannot be read,
// costs the rule's estimate; that of an error, nothing.
//
// Thread rule: a worker's only thread. Tested by stay_test.cc, stay_asked_test.cc and
// tests/nginx/response_test.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/asks/asks.h"
#include "nginx/leased_slots.h"
#include "nginx/zone/concurrency.h"
#include "proto/usage/asked_tokens.h"
#include "proto/usage/usage_reader.h"

namespace weir::nginx {

// A response before its body is known.
struct ResponseHead {
  static constexpr int kNoResponse = 499;

  int status = kNoResponse;
  // Else nobody has seen one: the client has left, or nginx says that the origin has not answered.
  bool is_known = true;
  // How the body can be read; none: it cannot, as it is compressed or of another type.
  std::optional<UsageReader::Form> body{};
  // The value of the field, the first if there are several; empty if there is none.
  std::function<std::string_view(std::string_view name)> field = [](std::string_view) {
    return std::string_view();
  };
};

// What an origin or nginx's configuration says of a cost. Unlike a client, both may say that the
// work costs nothing.
std::int64_t cost_by(std::string_view text);

// check:allow(methods): the steps of a request's way, and what each asks of it
class Stay {
 public:
  // All outlive this.
  Stay(Concurrency& under_way, LeasedSlots& leased, const KeyHasher& hasher)
      : under_way_(under_way), leased_(leased), hasher_(hasher) {}
  // Its units are others' from then on.
  ~Stay() { end(); }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  // Of a request that is judged by this set of the gateway. REQUIRES: it is empty
  void begin(std::size_t rules) { rules_ = rules; }
  std::size_t rules() const { return rules_; }
  bool owes() const;
  // A rule by which it is counted reads the body.
  bool wants_body() const;
  bool is_empty() const { return is_empty_; }

  // The slots on lease that it asks for, or has. REQUIRES: of what is added, end() follows
  RequestSlots& asked_slots() {
    is_empty_ = false;
    return slots_;
  }
  const RequestSlots& slots() const { return slots_; }

  // Makes of what a rule asks what is to be asked now. `place`: of the ask among the request's.
  // `body`: of the request; null: it is not there yet.
  void admit(Ask& ask, std::size_t place, const BodyStart* body);
  // Whether a rule wants the request's body, and it was not given. REQUIRES: end() follows
  bool lacks_body() const { return lacks_body_; }

  // The request passes, as `looks` say: it owes nothing that they have denied. If it need not wait
  // for its turn, it goes on.
  void passes(const Asks& looks, Duration wait, Instant now);
  // It waits for its turn no more.
  void go_on();

  // Asks for what the response makes due by the rules of today. From then on it owes only what the
  // body will say.
  void pay(const ResponseHead& response, const RuleSet& rules, Asks& asks);
  bool reads_body() const;
  // Where nothing catches what is thrown.
  void read(std::string_view piece) noexcept;
  // Asks for what the body has said, as far as it came, and owes nothing from then on.
  // Returns what the body calls its model, if no price is known and the dearest is charged.
  std::optional<std::string> pay_for_body(const RuleSet& rules, Asks& asks);
  // Gives the shares of what it has paid back, when that is charged.
  void let_go();
  // Lets go of all.
  void end() {
    if (!is_empty_) let_all_go();
  }

 private:
  struct Charge {
    Ask ask;  // of its texts none, and no rule, which a request may change meanwhile
    std::size_t look;
    std::string rule;
    std::string key;
    std::string tier;
    std::int64_t estimate;               // of its cost, which it holds until that is known
    std::optional<TokenPrices> asked{};  // of the models that the request names, if all are known
    std::optional<KeyHash> share{};
    bool wants_body = false;
    std::unique_ptr<UsageReader> body{};  // while that passes by
    bool is_paid = false;
  };
  void let_all_go();
  std::int64_t enter(const Ask& ask);
  Charge& owe(const Ask& ask, std::size_t look, std::int64_t limit, const BodyStart* body);
  void reserve(Ask& ask, std::int64_t limit, Charge& charge);
  Duration patience(const Ask& ask);
  void leave(const Charge& charge);
  static bool counts(const ResponseCount& count, const ResponseHead& response);
  static void add_due(Charge& charge, const Rule& rule, std::optional<std::int64_t> cost,
                      Asks& asks);

  Concurrency& under_way_;
  LeasedSlots& leased_;
  const KeyHasher& hasher_;
  std::size_t rules_ = 0;
  bool is_empty_ = true;  // as most are: then nothing else is looked at
  bool lacks_body_ = false;
  std::vector<Charge> charges_;
  bool is_error_ = false;  // says the status of the response whose body is read
  RequestSlots slots_;
  std::vector<KeyHash> held_;
  std::vector<KeyHash> waiting_;
};

}  // namespace weir::nginx
