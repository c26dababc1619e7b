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
#include <optional>
#include <string>
#include <string_view>

#include "proto/usage/json_numbers.h"

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
  UsageReader(const UsageReader&) = delete;
  UsageReader& operator=(const UsageReader&) = delete;

  // Allocates nothing.
  void feed(std::string_view piece) noexcept;
  // So far; none: nothing was said.
  std::optional<std::int64_t> units() const;

  static constexpr std::size_t kParts = 7;

 private:
  void number(std::string_view path, std::int64_t value) override;
  void read_lines(std::string_view piece);
  void read_events(std::string_view piece);
  void read_line(std::string_view part);
  void end_line(char by);

  const Form form_;
  const std::string path_;
  JsonNumbers numbers_{*this};
  std::array<std::int64_t, kParts> seen_{-1, -1, -1, -1, -1, -1, -1};  // by part; below 0: not yet
  std::size_t of_mark_ = 0;  // bytes of the byte order mark that may begin a stream of events
  // Of a line of a stream.
  std::size_t matched_ = 0;  // of "data:"
  bool is_of_data_ = true;   // so far
  bool is_blank_ = true;
  bool was_return_ = false;  // what ended the line before, so that a line feed belongs to it
};

}  // namespace weir
