// Judge: decides the requests of one worker, from counters that it shares with the others.
//
//   nginx's request -> Question -> rules, blocks, counters -> Judgement -> nginx's response
//
// Thread rule: the worker's only thread. Tested by judge_test.cc and tests/nginx.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/asks/asks.h"
#include "engine/asks/asks_pool.h"
#include "engine/block_list.h"
#include "engine/engine.h"
#include "gate/gate.h"
#include "net/loop/wall_clock.h"
#include "nginx/gateway.h"
#include "nginx/leased_slots.h"
#include "nginx/stay.h"
#include "nginx/waiting.h"
#include "nginx/zone/block_log.h"
#include "nginx/zone/zone.h"
#include "observe/traffic.h"
#include "weir/clock.h"
#include "weir/holding_store.h"
#include "weir/key.h"
#include "weir/memory_store.h"

namespace weir::nginx {

// A request, and the settings of the place in nginx's configuration that it came to.
struct Question {
  DescribedRequest& described;
  std::size_t rules = 0;                   // the number of the gateway's set
  std::optional<std::string_view> cost{};  // instead of what the rules make of the request
  bool passes = false;                     // whatever the judgement is
  DenialStatus denials{};
  const BodyStart* body = nullptr;  // null: it is not there yet
};

struct Judgement {
  enum class Kind : std::uint8_t {
    kNothing,      // no rule applies
    kDecided,      // `said` says how
    kRefused,      // `refusal` says why
    kUnavailable,  // no counter could decide
    kWaits,        // for a Redis: see Pending
    kNeedsBody,    // the request's body says what it holds; nothing was asked
  };

  Kind kind = Kind::kNothing;
  Instant at{};
  const GateAnswer* said = nullptr;  // until the next request is judged; null: no answer
  GateRefusal refusal{};
  Duration wait{0};  // until a request that is allowed may go on

  bool is_made() const { return kind < Kind::kWaits; }
  bool is_denied() const { return said != nullptr && !said->allows(); }
};

class Judge;

// A request whose answer comes later. If it is destroyed before that, its asks go on: they are
// decided to the end, and nobody reads the answer.
class Pending : public Waiting, Asks::Listener {
 public:
  // REQUIRES: the request that was judged last waits
  explicit Pending(Judge& judge);
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  // Asks the other rules when all slots have come that it waits for.
  bool is_decided();
  // REQUIRES: it is decided. The judgement refers to this
  Judgement judgement();
  std::unique_ptr<Stay> take_stay();

 protected:
  ~Pending() = default;

 private:
  void decided() noexcept override;

  Judge& judge_;
  AsksPtr asks_;
  std::unique_ptr<Stay> stay_;
  const Instant at_;
  bool has_asked_all_;
};

class Judge {
 public:
  // All must outlive the judge. `figures`: the counters of all places, zeros at first.
  Judge(const Gateway& gateway, const Zone& zone, std::span<CoreTraffic> figures,
        const RuleIds& ids, const Clock& clock);
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  Judgement judge(const Question& question, Instant now);
  // The Stay of the last judged request, for when it passes; null: it holds and owes nothing.
  std::unique_ptr<Stay> take_stay();
  // Charges what the response makes due, by its head or by the part of its body that was read. No
  // request waits for this.
  void charge(Stay& stay, const ResponseHead& response);
  // Returns what Stay::pay_for_body() does.
  std::optional<std::string> charge_for_body(Stay& stay);

  // Call before a request is read: other workers may have changed the rules, and so the fields that
  // they read. Returns the time at which to judge the request.
  Instant catch_up() {
    const Instant now = clock_.now();
    look_(now);
    return now;
  }
  // The parts of a request that the rules of this set read.
  const RequestNeeds& needs(std::size_t rules) const { return pools_[rules]->rules()->needs(); }

  // resume() is called for all that was woken, such as requests whose answers have come.
  DueList& due() { return due_; }

  // From now on requests are judged by these sets of rules, by number.
  void use_rules(const std::vector<RuleSetPtr>& sets);
  // catch_up() calls `look`.
  void before_each(std::function<void(Instant)> look) { look_ = std::move(look); }

  // Stands for the key of the rule, for as long as the zone lives.
  std::uint64_t key_hash(std::string_view rule, std::string_view key) const;

  // Memory for one request at a time.
  DescribedRequest& scratch() { return scratch_; }

  Engine& engine() { return engine_; }
  BlockLog& blocks() { return blocks_; }
  const MemoryStore& store() const { return *store_; }
  const Traffic& traffic() const { return traffic_; }

 private:
  friend class Pending;

  Judgement decide(const Question& question, Instant now);
  // Asks the other rules when it has all its slots.
  static Asks::Progress ask_rest(Asks& asks, const Stay& stay, Instant now);
  // A request that is denied holds nothing.
  Judgement read(const Asks& asks, Stay& stay, Instant now);
  Judgement decided(const Asks& asks, Stay& stay, Instant now);
  void follow_wall_clock(Instant now);
  void charge(Stay& stay, const std::function<void(const RuleSet&, Asks&)>& pay);

  const Clock& clock_;
  const WallClock wall_clock_;
  Instant wall_seen_{};
  const KeyHasher hasher_;
  std::unique_ptr<MemoryStore> store_;
  HoldingStore holds_;  // slots on lease to this worker, by name
  BlockLog blocks_;
  Concurrency under_way_;
  Traffic traffic_;  // of all workers; a worker without a place there counts for itself
  CoreTraffic& counts_;
  Engine engine_;
  std::function<void(Instant)> look_ = [](Instant) {};
  std::vector<std::unique_ptr<AsksPool>> pools_;  // by number of the rule set
  DueList due_;
  LeasedSlots leased_;
  AsksPtr asks_;                // of the last request
  std::unique_ptr<Stay> stay_;  // its Stay, for when it passes
  Instant asked_at_{};          // when it came
  GateVoice voice_;
  DescribedRequest scratch_;
};

}  // namespace weir::nginx
