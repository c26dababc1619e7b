// UsageReader, JsonNumbers, asked_tokens() and asked_cost(), on any bytes, in any pieces. The first
// byte of the input is the size of the pieces.
//
// Checked: pieces change nothing. What a parser of whole texts finds in a JSON text is found: no
// request holds less than it lets a model answer with.

#include <boost/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "proto/usage/asked_tokens.h"
#include "proto/usage/usage_reader.h"
#include "weir/quota.h"

namespace {

using weir::asked_cost;
using weir::asked_tokens;
using weir::JsonNumbers;
using weir::PriceTable;
using weir::UsageReader;

using Numbers = std::vector<std::pair<std::string, std::int64_t>>;

// Texts count by their size.
struct Heard final : JsonNumbers::Sink {
  void number(std::string_view path, std::int64_t value) override {
    numbers.emplace_back(path, value);
  }
  bool no_number(std::string_view, char first) override { return first == '"'; }
  void text(std::string_view path, std::string_view value) override {
    WEIR_ASSERT(value.size() <= JsonNumbers::kTextMax);
    numbers.emplace_back(path, value.size());
  }
  Numbers numbers;
};

// What is unknown is the dearest, so that nothing costs less for it.
const std::shared_ptr<const PriceTable> kPrices = std::make_shared<const PriceTable>(
    std::vector<PriceTable::Row>{{"m", {.each = {1'000'000, 500'000, 1'250'000, 4'000'000}}},
                                 {"g*", {.each = {2'000'000, 1'000'000, 2'500'000, 8'000'000}}}});

void feed(auto& reader, std::string_view text, std::size_t piece) {
  for (std::size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
}

Numbers numbers_in(std::string_view text, std::size_t piece) {
  Heard heard;
  JsonNumbers numbers(heard);
  feed(numbers, text, piece);
  return heard.numbers;
}

void collect(const boost::json::value& value, const std::string& path, std::size_t names,
             Numbers& to) {
  if (const auto* const object = value.if_object()) {
    for (const auto& [name, inner] : *object) {
      const std::string below = (names == 0 ? "" : path + ".") + std::string(name);
      collect(inner, below, names + 1, to);
    }
  }
  const auto* const whole = value.if_int64();
  if (whole == nullptr || *whole <= 0) return;
  if (names == 0 || names >= JsonNumbers::kNamesMax || path.size() > JsonNumbers::kPathMax) return;
  to.emplace_back(path, std::min(*whole, weir::kCostMax));
}

// Compares the estimate with the largest number that a model would obey.
void check_asked(std::string_view text, const boost::json::object& request) {
  constexpr std::int64_t kOtherwise = 200;
  const std::int64_t asked = asked_tokens({.bytes = text}, {}, kOtherwise);
  WEIR_ASSERT(asked > 0 && asked <= weir::kCostMax);
  const std::int64_t cost = asked_cost({.bytes = text}, {}, kOtherwise, *kPrices).units;
  WEIR_ASSERT(cost >= asked && cost <= std::min(8 * asked, weir::kCostMax));
  const auto* const most = request.if_contains("max_tokens");
  if (most == nullptr || most->is_double()) return;
  const auto* const whole = most->if_int64();
  const bool is_plain = whole != nullptr && *whole > 0;
  WEIR_ASSERT(asked >= (is_plain ? std::min(*whole, weir::kCostMax) : kOtherwise));
  WEIR_ASSERT(asked_tokens({.bytes = text, .is_whole = false}, {}, kOtherwise) >= kOtherwise);
}

void check_against_parser(std::string_view text, const Numbers& heard) {
  boost::system::error_code error;
  const auto value = boost::json::parse(text, error, {}, {.max_depth = 200});
  if (error) return;
  if (const auto* const object = value.if_object()) check_asked(text, *object);
  const bool has_other_names = std::ranges::any_of(text, [](unsigned char c) { return c >= 0x80; });
  if (has_other_names || text.find('\\') != text.npos) return;  // not all escapes are undone
  Numbers expected;
  if (const auto* const array = value.if_array()) {
    for (const auto& each : *array) collect(each, "", 0, expected);
  } else {
    collect(value, "", 0, expected);
  }
  for (const auto& number : expected) WEIR_ASSERT(std::ranges::find(heard, number) != heard.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = std::size_t{data[0]} + 1;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Numbers heard = numbers_in(text, text.size() + 1);
  WEIR_ASSERT(numbers_in(text, piece) == heard);
  check_against_parser(text, heard);
  using enum UsageReader::Form;
  for (const auto form : {kJson, kLines, kEvents}) {
    for (const char* const path : {"", "usage.total_tokens"}) {
      UsageReader whole(form, path);
      UsageReader pieces(form, path);
      whole.feed(text);
      feed(pieces, text, piece);
      WEIR_ASSERT(whole.units() == pieces.units());
    }
    UsageReader whole(form, kPrices);
    UsageReader pieces(form, kPrices);
    whole.feed(text);
    feed(pieces, text, piece);
    const auto cost = whole.cost({});
    WEIR_ASSERT(cost == pieces.cost({}) && cost.has_value() == whole.units().has_value());
    WEIR_ASSERT(whole.unknown_model() == pieces.unknown_model());
    if (cost) WEIR_ASSERT(*cost >= 0 && *cost <= weir::kCostMax);
  }
  return 0;
}
