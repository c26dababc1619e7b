// JsonWriter: JSON for pages that people read now and then. It puts the commas.
//
//   JsonWriter json;
//   json.begin_object().field("status", "ok").field("cores", 2).end_object();
//   json.text()  ->  {"status":"ok","cores":2}
//
// Not for the hot path, which has its own formats (server/http/check/check_reply.cc).
// Thread rule: a value. Tested by json_writer_test.cc.

#pragma once

#include <concepts>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>

#include "weir/time.h"

namespace weir {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  // Writes the name of the next value.
  JsonWriter& key(std::string_view name);

  // In a text that is not UTF-8, '?' replaces all that is not ASCII.
  JsonWriter& string(std::string_view text);
  JsonWriter& number(std::integral auto number) { return raw(std::to_string(number)); }
  // The shortest text that reads back as the same number; null if JSON cannot write it.
  JsonWriter& number(double number);
  JsonWriter& seconds(Duration duration) {
    return number(std::chrono::duration<double>(duration).count());
  }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }

  // Writes a value that is already JSON.
  JsonWriter& raw(std::string_view json);

  // A name and its value: a text, a list of texts, true or false, a duration in seconds, a number.
  template <typename T>
  JsonWriter& field(std::string_view name, const T& value) {
    key(name);
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return string(value);
    } else if constexpr (std::ranges::range<T>) {
      begin_array();
      for (const auto& text : value) string(text);
      return end_array();
    } else if constexpr (std::is_same_v<T, bool>) {
      return boolean(value);
    } else if constexpr (std::is_same_v<T, Duration>) {
      return seconds(value);
    } else {
      return number(value);
    }
  }
  // Writes null if there is no value.
  template <typename T>
  JsonWriter& field(std::string_view name, const std::optional<T>& value) {
    return value ? field(name, *value) : key(name).null();
  }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void append_quoted(std::string_view text);

  std::string text_;
  bool needs_comma_ = false;
};

// The text as a JSON string, with its quotes.
inline std::string json_string(std::string_view text) {
  JsonWriter json;
  json.string(text);
  return json.text();
}

}  // namespace weir
