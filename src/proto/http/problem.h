// Problem: why a request was refused, for people and programs (RFC 9457).
//
//   HTTP/1.1 400 Bad Request
//   Content-Type: application/problem+json
//
//   {"type":"urn:weir:problem:invalid-field","title":"A field is not valid","status":400,
//    "detail":"limit: expected an integer from 0 to 1000000000000","field":"limit",
//    "expected":"an integer from 0 to 1000000000000"}
//
// A denial is not a problem: it is an answer. The kinds are listed in docs/reference/http.md.
//
// Thread rule: values. Tested by src/server/http/check/check_body_test.cc and
// tests/scenarios/http_problems.yaml.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir {

enum class ProblemKind : std::uint8_t {
  kHttp,  // as the status says: no such path, too large, ...
  kMalformedJson,
  kInvalidField,
  kUnknownRule,
  kUnknownToken,
  kTooManyHolds,
  kStoreUnavailable,
};

struct Problem {
  ProblemKind kind = ProblemKind::kHttp;
  int status = 400;
  std::string detail;
  std::string field;     // the wrong one, e.g. "checks[3].limit"; may be empty
  std::string expected;  // the right values; may be empty
};

Problem http_problem(int status, std::string_view detail);
Problem invalid_field(std::string_view field, std::string_view expected);
// For a name that is not among `known`; `field` says where it stands.
Problem unknown_field(std::string_view field, std::string_view name,
                      std::span<const std::string_view> known);
// For a header field that came twice: an origin may use another one than we.
Problem repeated_field(std::string_view name);
Problem store_unavailable();

inline constexpr std::string_view kProblemContentType = "application/problem+json";
std::string to_json(const Problem& problem);

}  // namespace weir
