// CheckReader: the JSON bodies that ask for decisions.
//
//   {"key":"user_123","limit":100,"window":60}                    one check
//   {"checks":[{"key":...},{"key":...}],"atomic":true}            several
//   {"key":"user_123","rule":"tokens","cost":9,"hold":"30s"}      a reservation
//
// Strict: a field that is unknown, repeated, of another type, out of range or missing
// is a Problem that names it and says what was expected. An accepted body is valid
// JSON to its last byte, in valid UTF-8.
//
// One check without escapes, fractions and anything beyond ASCII is read here, in one pass. One
// that differs by its key alone from one that is kept is read by comparing bytes. All else is
// simdjson's to parse, in place: whatever is not plainly right, and so every mistake.
//
// Thread rule: one reader a core. Tested by check_body_test.cc and
// fuzz/check_body_fuzz.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/ask.h"
#include "rules/mode.h"
#include "server/http/exchange.h"
#include "server/http/problem.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

// The fields of a check, in the order of the names below.
enum class CheckField : std::uint8_t {
  kKey,
  kLimit,
  kWindow,
  kBucket,
  kCost,
  kBurst,
  kAlgorithm,
  kRule,
  kTier,
  kMode,
  kCharge,
};
inline constexpr std::array<std::string_view, 11> kCheckFieldNames = {
    "key",       "limit", "window", "bucket", "cost",   "burst",
    "algorithm", "rule",  "tier",   "mode",   "charge",
};

// Those of a body with several checks.
inline constexpr std::array<std::string_view, 2> kCheckListFieldNames = {"checks", "atomic"};

inline constexpr std::string_view kHoldExpected = "a duration as text, such as \"30s\"";
inline constexpr std::size_t kKeyMax = 4096;  // bytes of UTF-8
inline constexpr std::size_t kChecksMax = 256;

// One check as the body describes it. The texts are valid until the reader's next call.
struct CheckSpec {
  std::string_view key;
  std::string_view key_json;  // as it stood in the body, quotes and escapes included
  std::string_view bucket;
  std::string_view rule;
  std::string_view tier;
  std::int64_t limit = 0;
  Duration window{0};
  std::int64_t cost = 1;
  std::int64_t burst = 0;
  Algorithm algorithm = Algorithm::kSlidingWindow;
  std::optional<Mode> mode{};  // none: the rule's, or the node's
  Ask::Counting counting = Ask::Counting::kAsTheRuleSays;
  bool resets = false;        // in place of spending
  std::uint16_t present = 0;  // a bit for each CheckField

  bool has(CheckField field) const { return (present >> static_cast<unsigned>(field) & 1) != 0; }
};

enum class CheckForm : std::uint8_t {
  kSingle,        // one check
  kSingleOrList,  // one, or several in "checks"
  kReserve,       // one, and for how long its cost is held: read_reserve()'s
};

struct CheckBody {
  std::span<const CheckSpec> checks;  // valid until the reader's next call
  bool is_list = false;
  bool atomic = false;
};

class CheckReader {
 public:
  CheckReader();
  ~CheckReader();

  // False if the body is refused: problem() says why. The first byte behind the text is another
  // one meanwhile.
  bool read(const RequestBody& source, CheckForm form);
  // The same of a reservation, and its `hold`.
  bool read_reserve(const RequestBody& source, std::string_view& hold);

  const CheckBody& body() const { return body_; }
  const Problem& problem() const { return problem_; }

 private:
  class Pass;
  struct Parser;

  std::unique_ptr<Parser> parser_;  // keeps simdjson out of this header
  std::unique_ptr<std::array<CheckSpec, kChecksMax>> specs_;
  CheckBody body_;
  struct Kept {
    std::string body;  // a plain one; empty: none
    CheckSpec spec;
  };
  std::array<Kept, 2> kept_;  // for clients that take turns
  unsigned others_ = 0;       // that it might have kept
  Problem problem_;
};

}  // namespace weir
