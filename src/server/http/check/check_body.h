// CheckReader: the JSON bodies that ask for decisions.
//
//   {"key":"user_123","limit":100,"window":60}                    one check
//   {"checks":[{"key":...},{"key":...}],"atomic":true}            several
//   {"key":"user_123","rule":"tokens","cost":9,"hold":"30s"}      a reservation
//
// Strict: an unknown, repeated or missing field, or one of a wrong type or out of range, is a
// Problem that names the field and what was expected. An accepted body is valid JSON to its last
// byte, in valid UTF-8.
//
// The reader itself reads one check without escapes, fractions and bytes beyond ASCII, in one pass.
// If a check differs from a kept one by its key alone, it only compares bytes. simdjson parses all
// other bodies, in place: all that are not plainly right, and so every mistake.
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
#include "proto/http/problem.h"
#include "rules/mode.h"
#include "server/http/exchange.h"
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

// The fields of a body with several checks.
inline constexpr std::array<std::string_view, 2> kCheckListFieldNames = {"checks", "atomic"};

inline constexpr std::string_view kHoldExpected = "a duration as text, such as \"30s\"";
inline constexpr std::size_t kKeyMax = 4096;  // bytes of UTF-8
inline constexpr std::size_t kChecksMax = 256;

// The fields of one check of a body. The texts are valid until the reader's next call.
struct CheckFields {
  std::string_view key;
  std::string_view key_json;  // as in the body, with quotes and escapes
  std::string_view bucket;
  std::string_view rule;
  std::string_view tier;
  std::int64_t limit = 0;
  Duration window{0};
  std::int64_t cost = 1;
  std::int64_t burst = 0;
  Algorithm algorithm = Algorithm::kSlidingWindow;
  std::optional<Mode> mode{};  // nullopt: the rule's, or the node's
  Ask::Counting counting = Ask::Counting::kAsTheRuleSays;
  bool resets = false;        // in place of spending
  std::uint16_t present = 0;  // a bit for each CheckField

  bool has(CheckField field) const { return (present >> static_cast<unsigned>(field) & 1) != 0; }
};

enum class CheckForm : std::uint8_t {
  kSingle,        // one check
  kSingleOrList,  // one, or several in "checks"
  kReserve,       // one, and how long its cost is held: for read_reserve()
};

struct CheckBody {
  std::span<const CheckFields> checks;  // valid until the reader's next call
  bool is_list = false;
  bool atomic = false;
};

class CheckReader {
 public:
  CheckReader();
  ~CheckReader();

  // False if the body is refused: problem() says why. Meanwhile the first byte behind the text is
  // changed.
  bool read(const RequestBody& source, CheckForm form);
  // Reads a reservation in the same way, and its `hold`.
  bool read_reserve(const RequestBody& source, std::string_view& hold);

  const CheckBody& body() const { return body_; }
  const Problem& problem() const { return problem_; }

 private:
  class Pass;
  struct Parser;

  std::unique_ptr<Parser> parser_;  // keeps simdjson out of this header
  std::unique_ptr<std::array<CheckFields, kChecksMax>> checks_;
  CheckBody body_;
  struct Kept {
    std::string body;  // of a plain check; empty: none
    CheckFields fields;
  };
  std::array<Kept, 2> kept_;  // for clients that take turns
  unsigned others_ = 0;       // bodies that it might have kept
  Problem problem_;
};

}  // namespace weir
