// JsonBody: the body of an admin request: one JSON object of known fields.
//
// For requests that come now and then; checks have their own reader (check_body.h). It keeps the
// first mistake: read all fields, then look at problem().
//
//   JsonBody body(exchange.body.view(), {"rule", "key"});
//   const std::string_view rule = body.text("rule");
//   if (body.problem()) return core.reply_problem(exchange, *body.problem());
//
// Thread rule: a value. Tested by tests/scenarios/http_admin.yaml and fuzz/admin_body_fuzz.cc.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "proto/http/problem.h"

namespace weir {

class JsonBody {
 public:
  using Names = std::initializer_list<std::string_view>;

  JsonBody(std::string_view json, Names known);
  ~JsonBody();

  bool has(std::string_view field) const;

  // Texts are views of this. This text must be there, and not empty.
  std::string_view text(std::string_view field, std::string_view expected = "a text, not empty");
  // A text that may be missing.
  std::string_view text_or(std::string_view field, std::string_view otherwise);
  // An object of up to 256 texts, which may be missing; a list has several of one name.
  std::vector<NameValue> texts(std::string_view field);
  // A whole number in that range, which must be there.
  std::uint64_t number(std::string_view field, std::int64_t least = 1,
                       std::int64_t most = INT64_MAX);
  // false if it is missing.
  bool flag(std::string_view field);

  void reject(std::string_view field, std::string_view expected);
  const std::optional<Problem>& problem() const { return problem_; }

 private:
  struct Parsed;

  std::unique_ptr<Parsed> parsed_;  // keeps simdjson out of this header
  std::optional<Problem> problem_;
};

}  // namespace weir
