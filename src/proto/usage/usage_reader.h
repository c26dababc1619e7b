// UsageReader: reads from a response's body, while it passes by, how many units the work has cost.
//
// Language models report their tokens in JSON, or in the events of a stream:
//
//   OpenAI     "usage":{"total_tokens":..}; in a stream in the last chunk, or of "response"
//   Anthropic  "usage":{"input_tokens":.., "output_tokens":..}, and tokens written to and read from
//              its cache; in a stream of "message" first, then as it grows
//   Gemini     "usageMetadata":{"totalTokenCount":..} in each chunk, of what was said up to it
//
// With a table of prices, these tokens cost what the named model costs: "model" or "modelVersion".
// Of several the dearest counts. Tokens of a total beyond its parts are output.
//
// Many other vendors use one of these forms. Of each number the largest counts, as all of them
// grow. Without a total, the sum of the parts counts.
//
// Takes some hundred bytes, whatever the size of the body, its lines or its pieces.
//
// Thread rule: one thread. Tested by usage_reader_test.cc and fuzz/usage_fuzz.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proto/usage/json_numbers.h"
#include "rules/usage/price_table.h"

namespace weir {

class UsageReader final : JsonNumbers::Sink {
 public:
  enum class Form : std::uint8_t {
    kJson,    // one text, or several one after the other
    kLines,   // a text on each line: a broken text spoils no other
    kEvents,  // text/event-stream: a text in the data of each event
  };
  // By the type of the content; nothing: such content is not read.
  static std::optional<Form> form_of(std::string_view content_type);

  // `path`: of the only number that counts, such as usage.total_tokens; empty: as above.
  UsageReader(Form form, std::string_view path) : form_(form), path_(path) {}
  UsageReader(Form form, std::shared_ptr<const PriceTable> prices)
      : form_(form), prices_(std::move(prices)) {
    unknown_model_.reserve(JsonNumbers::kTextMax);
  }
  UsageReader(const UsageReader&) = delete;
  UsageReader& operator=(const UsageReader&) = delete;

  // Allocates nothing.
  void feed(std::string_view piece) noexcept;
  // The units so far; nothing: the body has not said any.
  std::optional<std::int64_t> units() const;
  // The same in millionths of a dollar, by the model that the body names, else at the prices
  // `asked`, else as for an unknown model. REQUIRES: has_prices()
  std::optional<std::int64_t> cost(const std::optional<TokenPrices>& asked) const;
  bool has_prices() const { return prices_ != nullptr; }
  bool knows_model() const { return model_.has_value(); }
  // The last model named by the body that has no price; empty: none.
  std::string_view unknown_model() const { return unknown_model_; }

  static constexpr std::size_t kParts = 8;

 private:
  void number(std::string_view path, std::int64_t value) override;
  bool no_number(std::string_view path, char first) override;
  void text(std::string_view path, std::string_view model) override;
  std::optional<std::int64_t> sum() const;
  void read_lines(std::string_view piece);
  void read_events(std::string_view piece);
  void read_line(std::string_view part);
  void end_line(char by);

  const Form form_;
  const std::string path_{};
  const std::shared_ptr<const PriceTable> prices_{};
  std::optional<TokenPrices> model_{};
  std::string unknown_model_{};
  JsonNumbers numbers_{*this};
  // By part; below 0: not seen yet.
  std::array<std::int64_t, kParts> seen_{-1, -1, -1, -1, -1, -1, -1, -1};
  std::size_t of_mark_ = 0;  // bytes of a byte order mark, with which a stream may begin
  // In a line of a stream:
  std::size_t matched_ = 0;  // bytes of "data:"
  bool is_of_data_ = true;   // so far, it begins with "data:"
  bool is_blank_ = true;
  bool was_return_ = false;  // a CR ended the last line, so an LF belongs to it
};

}  // namespace weir
