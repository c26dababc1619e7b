// Stay: the units that a request holds and owes on its way through nginx.
//
//   decided ────── passed on ────── head of the response ────── body ────── end
//   looked at, counted              charged, unless the body    charged     counted no more
//   as under way,                   says the cost
//   waits for its turn
//
// A request counts as under way until its memory is given back, however it ends.
//
// A request that a rule may count by the response holds units of the limit until then: the rule's
// estimate, or what the request's body says. The cost is charged when the response's head is known,
// before any of the body is sent: a client that reads slowly delays nothing. A request without a
// response is charged at its end: nobody knows its cost, so it counts.
//
// If the body says the cost, Weir reads it as it passes, and charges at its end. If the client
// leaves earlier, it pays the cost up to there. A body that says no cost, or cannot be read, costs
// the rule's estimate; the body of an error costs nothing.
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
  // False: the client left before it, or nginx says that the origin has not answered.
  bool is_known = true;
  // How to read the body; nullopt: it is compressed, or of another type.
  std::optional<UsageReader::Form> body{};
  // The field's value, the first if there are several; empty if there is none.
  std::function<std::string_view(std::string_view name)> field = [](std::string_view) {
    return std::string_view();
  };
};

// A cost from an origin or from nginx's configuration. Unlike a client, both may say that the work
// costs nothing.
std::int64_t cost_by(std::string_view text);

// check:allow(methods): bills, slots and units under way end together, whichever step is the last
class Stay {
 public:
  // All outlive this.
  Stay(Concurrency& under_way, LeasedSlots& leased, const KeyHasher& hasher)
      : under_way_(under_way), leased_(leased), hasher_(hasher) {}
  // Its units are free from then on.
  ~Stay() { end(); }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  // For a request that is judged by this set of the gateway. REQUIRES: it is empty
  void begin(std::size_t rules) { rules_ = rules; }
  std::size_t rules() const { return rules_; }
  bool owes() const;
  // Whether a rule that counts it reads the request's body.
  bool wants_body() const;
  bool is_empty() const { return is_empty_; }

  // The leased slots that it asks for, or has. REQUIRES: end() follows if any is added
  RequestSlots& asked_slots() {
    is_empty_ = false;
    return slots_;
  }
  const RequestSlots& slots() const { return slots_; }

  // Makes a rule's ask only look, where its cost is known later. `place`: among the request's asks.
  // `body`: of the request; null: not read yet.
  void admit(Ask& ask, std::size_t place, const BodyStart* body);
  // Whether a rule needs the request's body, and admit() had none. REQUIRES: end() follows
  bool lacks_body() const { return lacks_body_; }

  // The request passes, as `looks` say: it owes nothing to rules that denied it. If it need not
  // wait for its turn, it goes on.
  void passes(const Asks& looks, Duration wait, Instant now);
  // It no longer waits for its turn.
  void go_on();

  // Asks for what the response makes due by the current rules. From then on it owes only the costs
  // that the body will say.
  void pay(const ResponseHead& response, const RuleSet& rules, Asks& asks);
  bool reads_body() const;
  // noexcept, as the caller catches nothing.
  void read(std::string_view piece) noexcept;
  // Asks for the cost that the body has said so far, and owes nothing from then on. Returns the
  // body's name of the model, if that has no price and the dearest price is charged.
  std::optional<std::string> pay_for_body(const RuleSet& rules, Asks& asks);
  // Gives back the shares that it held, when their cost is charged.
  void let_go();
  // Lets go of everything.
  void end() {
    if (!is_empty_) let_all_go();
  }

 private:
  // The charge by one rule, kept until the cost of the request is known.
  struct Bill {
    Ask ask;  // without texts and rule, which a request may change meanwhile
    std::size_t look;
    std::string rule;
    std::string key;
    std::string tier;
    std::int64_t estimate;               // of its cost, held until the cost is known
    std::optional<TokenPrices> asked{};  // of the models in the request, if all are known
    std::optional<KeyHash> share{};
    bool wants_body = false;
    std::unique_ptr<UsageReader> body{};  // while the body passes
    bool is_paid = false;
  };
  void let_all_go();
  std::int64_t enter(const Ask& ask);
  Bill& owe(const Ask& ask, std::size_t look, std::int64_t limit, const BodyStart* body);
  void reserve(Ask& ask, std::int64_t limit, Bill& bill);
  Duration patience(const Ask& ask);
  void leave(const Bill& bill);
  static bool counts(const ResponseCount& count, const ResponseHead& response);
  static void add_due(Bill& bill, const Rule& rule, std::optional<std::int64_t> cost, Asks& asks);

  Concurrency& under_way_;
  LeasedSlots& leased_;
  const KeyHasher& hasher_;
  std::size_t rules_ = 0;
  bool is_empty_ = true;  // mostly true: then nothing else is read
  bool lacks_body_ = false;
  std::vector<Bill> bills_;
  bool is_error_ = false;  // by the status of the response whose body is read
  RequestSlots slots_;
  std::vector<KeyHash> held_;
  std::vector<KeyHash> waiting_;
};

}  // namespace weir::nginx
