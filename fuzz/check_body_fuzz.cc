// Feeds bytes to the reader of check bodies. Its own way and simdjson's say the same of each. A
// body that it accepts is valid JSON to Boost.JSON too, with the same keys. It explains each
// refusal.

#include <boost/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "proto/input_buffer.h"
#include "server/http/check/check_ask.h"
#include "server/http/check/check_body.h"
#include "server/http/check/check_body_testing.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

namespace json = boost::json;

json::value parse(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  WEIR_ASSERT(!error);
  return value;
}

std::string_view text_of(const json::value& value) {
  return {value.as_string().data(), value.as_string().size()};
}

void check_problem(const Problem& problem) {
  WEIR_ASSERT(problem.status == 400 || problem.status == 404);
  WEIR_ASSERT(!problem.detail.empty());
  const json::value page = parse(to_json(problem));
  WEIR_ASSERT(page.at("status") == problem.status);
}

// What was read of one check, against its object.
void check_fields(const CheckFields& fields, const json::value& object) {
  WEIR_ASSERT(!fields.key.empty() && fields.key.size() <= kKeyMax);
  WEIR_ASSERT(text_of(object.at("key")) == fields.key);
  WEIR_ASSERT(text_of(parse(fields.key_json)) == fields.key);
  WEIR_ASSERT(fields.limit >= 0 && fields.limit <= kLimitMax);
  WEIR_ASSERT(fields.cost >= -kCostMax && fields.cost <= kCostMax);
  if (fields.has(CheckField::kRule)) WEIR_ASSERT(text_of(object.at("rule")) == fields.rule);
  if (fields.has(CheckField::kBucket)) WEIR_ASSERT(text_of(object.at("bucket")) == fields.bucket);
  if (fields.has(CheckField::kLimit)) WEIR_ASSERT(object.at("limit") == fields.limit);

  Ask ask;
  Problem problem;
  if (!make_ask(fields, RuleSet(), ask, problem)) check_problem(problem);
}

void check_body(const CheckBody& body, std::string_view text) {
  json::error_code error;
  const json::value whole = json::parse({text.data(), text.size()}, error);
  // 0e99999999999 is a valid zero, of which Boost.JSON only sees that the exponent is large.
  if (error == json::error::exponent_overflow) return;
  WEIR_ASSERT(!error);
  WEIR_ASSERT(!body.checks.empty() && body.checks.size() <= kChecksMax);
  if (!body.is_list) return check_fields(body.checks[0], whole);
  const json::array& checks = whole.at("checks").as_array();
  WEIR_ASSERT(checks.size() == body.checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) check_fields(body.checks[i], checks[i]);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  static CheckReader reader;
  // In memory of its own, so that reading behind the padding is noticed; and padded with
  // what might go on.
  const std::size_t readable = size + InputBuffer::kPadding;
  const auto bytes = std::make_unique<char[]>(readable);
  std::copy_n(data, size, bytes.get());
  const char padding = size > 0 ? "}]\",:{0 "[data[size / 2] % 8] : ' ';
  std::fill_n(bytes.get() + size, InputBuffer::kPadding, padding);
  const std::string_view text(bytes.get(), size);
  for (const CheckForm form : {CheckForm::kSingle, CheckForm::kSingleOrList}) {
    WEIR_ASSERT(said_of(reader, std::string(text), form, padding) ==
                said_by_simdjson(reader, text, form, padding));
    if (reader.read({.text = bytes.get(), .size = size, .readable = readable}, form)) {
      check_body(reader.body(), text);
    } else {
      check_problem(reader.problem());
    }
  }
  std::string_view hold;
  if (reader.read_reserve({.text = bytes.get(), .size = size, .readable = readable}, hold)) {
    WEIR_ASSERT(!hold.empty() && reader.body().checks[0].cost > 0 && !reader.body().is_list);
    check_body(reader.body(), text);
  } else {
    check_problem(reader.problem());
  }
  return 0;
}
