// UsageReader and JsonNumbers, on any bytes in any pieces. The input's first byte is the size of
// the pieces.
//
// Checked: pieces change nothing; and what a parser of whole texts finds in a JSON text is found.

#include <boost/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "proto/usage/usage_reader.h"
#include "weir/quota.h"

namespace {

using weir::JsonNumbers;
using weir::UsageReader;

using Numbers = std::vector<std::pair<std::string, std::int64_t>>;

struct Heard final : JsonNumbers::Sink {
  void number(std::string_view path, std::int64_t value) override {
    numbers.emplace_back(path, value);
  }
  Numbers numbers;
};

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

void check_against_parser(std::string_view text, const Numbers& heard) {
  boost::system::error_code error;
  const auto value = boost::json::parse(text, error, {}, {.max_depth = 200});
  if (error || text.find('\\') != text.npos) return;  // names are compared as they are written
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
  }
  return 0;
}
