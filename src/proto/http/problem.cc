#include "proto/http/problem.h"

#include "base/nearest_name.h"
#include "proto/http/status.h"
#include "proto/json_writer.h"

namespace weir {
namespace {

struct KindText {
  std::string_view type;
  std::string_view title;
};

KindText text_of(const Problem& problem) {
  switch (problem.kind) {
    case ProblemKind::kHttp: break;
    case ProblemKind::kMalformedJson:
      return {"urn:weir:problem:malformed-json", "The body is not the JSON that is expected"};
    case ProblemKind::kInvalidField:
      return {"urn:weir:problem:invalid-field", "A field is not valid"};
    case ProblemKind::kUnknownRule:
      return {"urn:weir:problem:unknown-rule", "There is no such rule"};
    case ProblemKind::kUnknownToken:
      return {"urn:weir:problem:unknown-token", "Nothing is held under this token"};
    case ProblemKind::kTooManyHolds:
      return {"urn:weir:problem:too-many-holds", "Too much is held already"};
    case ProblemKind::kStoreUnavailable:
      return {"urn:weir:problem:store-unavailable", "The store is unavailable"};
  }
  const std::string_view phrase = reason_phrase(problem.status);
  if (!phrase.empty()) return {"about:blank", phrase};
  return {"about:blank", problem.status < 500 ? "Client Error" : "Server Error"};
}

}  // namespace

Problem http_problem(int status, std::string_view detail) {
  return {.status = status, .detail = std::string(detail)};
}

Problem invalid_field(std::string_view field, std::string_view expected) {
  std::string detail(field);
  detail += ": expected ";
  detail += expected;
  return {.kind = ProblemKind::kInvalidField,
          .status = 400,
          .detail = std::move(detail),
          .field = std::string(field),
          .expected = std::string(expected)};
}

Problem unknown_field(std::string_view field, std::string_view name,
                      std::span<const std::string_view> known) {
  Problem problem = invalid_field(field, expected_name(name, known));
  problem.detail = problem.field + ": there is no such field; " + name_hint(name, known);
  return problem;
}

Problem store_unavailable() {
  return {.kind = ProblemKind::kStoreUnavailable,
          .status = 503,
          .detail = "The store did not answer in time, so nobody knows what it did."};
}

std::string to_json(const Problem& problem) {
  const KindText text = text_of(problem);
  JsonWriter json;
  json.begin_object().field("type", text.type).field("title", text.title);
  json.field("status", problem.status).field("detail", problem.detail);
  if (!problem.field.empty()) json.field("field", problem.field);
  if (!problem.expected.empty()) json.field("expected", problem.expected);
  json.end_object();
  return json.text();
}

Problem repeated_field(std::string_view name) {
  return http_problem(
      400, "There is more than one header field " + std::string(name) + "; send it once.");
}

}  // namespace weir
