// UsageReader: how many units the body of a response says that its work has cost, while the body
// passes by.
//
// Language models report their tokens so, as JSON or in the events of a stream:
//
//   OpenAI     "usage":{"total_tokens":..}; in a stream in the last chunk, or of "response"
//   Anthropic  "usage":{"input_tokens":.., "output_tokens":..}, and tokens written to and read from
//              its cache; in a stream of "message" first, then as it grows
//   Gemini     "usageMetadata":{"totalTokenCount":..} in each chunk, of what was said up to it
//
// With a table of prices it is what these tokens cost, by the model that the body names: "model" or
// "modelVersion". Of several the dearest counts. What a total has beyond its parts is output.
//
// Many others speak one of these forms. Of each number the largest that was seen counts, as all of
// them grow. Where there is no total, it is the sum of the parts.
//
// Holds some hundred bytes, whatever the size of the body, its lines or its pieces.
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
    kLines,   // a text on each line: a broken one spoils no other
    kEvents,  // text/event-stream: a text in the data of each event
  };
  // By the type of the content; none: nothing is read of others.
  static std::optional<Form> form_of(std::string_view content_type);

  // `path`: of the one number that counts, such as usage.total_tokens; empty: as above.
  UsageReader(Form form, std::string_view path) : form_(form), path_(path) {}
  UsageReader(Form form, std::shared_ptr<const PriceTable> prices)
      : form_(form), prices_(std::move(prices)) {
    unknown_model_.reserve(JsonNumbers::kTextMax);
  }
  UsageReader(const UsageReader&) = delete;
  UsageReader& operator=(const UsageReader&) = delete;

  // Allocates nothing.
  void feed(std::string_view piece) noexcept;
  // So far; none: nothing was said.
  std::optional<std::int64_t> units() const;
  // The same in millionths of a dollar, by the model that the body names; else `asked`, if the
  // request names one; else as an unknown one. REQUIRES: has_prices()
  std::optional<std::int64_t> cost(const std::optional<TokenPrices>& asked) const;
  bool has_prices() const { return prices_ != nullptr; }
  bool knows_model() const { return model_.has_value(); }
  // What the body names last that has no price; empty: nothing.
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
  // By part; below 0: not yet.
  std::array<std::int64_t, kParts> seen_{-1, -1, -1, -1, -1, -1, -1, -1};
  std::size_t of_mark_ = 0;  // bytes of the byte order mark that may begin a stream of events
  // Of a line of a stream.
  std::size_t matched_ = 0;  // of "data:"
  bool is_of_data_ = true;   // so far
  bool is_blank_ = true;
  bool was_return_ = false;  // what ended the line before, so that a line feed belongs to it
};

}  // namespace weir
