// Scenarios: what rules answer to requests at their times, whichever host is asked. README.md says
// how a file of them is written.
//
// Thread rule: values. Tested by scenarios_test.cc, which plays them.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::scenarios {

// What a host answers, or is to answer. A field that is not set is not said, and not compared.
struct Outcome {
  bool allowed = true;
  std::optional<std::int64_t> left{};
  std::optional<Duration> retry{};  // of a denial
  bool never = false;               // no retry helps
  std::string because{};
  int status = 0;
  std::optional<std::string> body{};
  std::vector<std::string> has{};    // parts of the reply
  std::vector<std::string> lacks{};  // no parts of it
};

enum class Verb : std::uint8_t {
  kHit,
  kLook,
  kCharge,
  kDrain,
  kReset,
  kReserve,
  kAcquire,
  kCommit,
  kRelease,
};

// One ask of a rule by its id and a key, and what is to be answered.
struct Question {
  Verb verb = Verb::kHit;
  std::string rule{};
  std::string key{};
  std::string tier{};
  std::string client{};
  std::int64_t cost = 1;
  Duration hold{0};      // of kReserve and kAcquire: for so long
  bool goes_on = false;  // of kCommit: the work
  Outcome expected{};

  bool is_of_holds() const { return verb >= Verb::kReserve; }
  bool ends_hold() const { return verb >= Verb::kCommit; }
};

struct Step {
  enum class Way : std::uint8_t {
    kOne,
    kTogether,  // all or nothing
    kEach,      // in one request, each by itself
    kRequest,   // the rules that match a described request
    kHttp,      // a request to the HTTP door in its own words, from the address `client`
    kBlock,
  };

  Way way = Way::kOne;
  Duration at{0};  // since the scenario began
  std::int64_t times = 1;
  std::vector<Question> questions{};  // of a request one, with what is to be answered
  std::string target{};               // of kHttp what is behind the method, with the body
  std::string method{};
  std::string host{};
  std::vector<std::string> headers{};  // "Name: value"
  Duration block{0};                   // for so long
  std::size_t line = 0;
};

struct Scenario {
  std::string name;
  std::size_t line = 0;
  std::vector<std::string> only{};  // hosts; empty: each that can say all its steps
  SettingValues settings{};
  RequestSources sources{};
  std::optional<std::string> token{};  // of admins
  bool is_on_the_network = false;      // the server listens on more than loopback
  std::vector<Rule> rules{};
  std::vector<Step> steps{};

  const Rule& rule(const std::string& id) const;
};

// Each scenario of the file, or its mistakes. Its rules are reachable.
Result<std::vector<Scenario>, ConfigErrors> read_scenarios(const std::string& path);

// Gives a rule that says neither what it matches nor which descriptors both: the path /ID with the
// header X-Key, and a descriptor {ID: key}.
void make_reachable(Scenario& scenario);

// Of `kDomain` are the descriptors that rules get.
inline constexpr std::string_view kDomain = "scenarios";

}  // namespace weir::scenarios
