// TextTemplate: a text with places for values of a denial.
//
//   {"error":"Too Many Requests","retry":{{retry_after}},"key":"{{key}}"}
//
// Names: rule, key, limit, remaining, count (spent so far), retry_after, reset_after (whole
// seconds). Each property of a request that can be in a key is a name, too: client, path,
// header:NAME and so on. Values are escaped for their place, so that no client can end a JSON
// string, open a tag or begin a header field. A value is cut after 1 KiB, or after 256 bytes in a
// header. After 64 KiB of text, or 4 KiB in a header, places stay empty.
//
// Thread rule: immutable once parsed. Tested by text_template_test.cc.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fault.h"
#include "rules/request/key_part.h"
#include "rules/request/request.h"
#include "weir/decision.h"
#include "weir/result.h"

namespace weir {

enum class Escape : std::uint8_t {
  kNone,    // text/plain
  kJson,    // within a string of JSON
  kHtml,    // in text and quoted attributes
  kHeader,  // the value of a header field: visible ASCII and blanks
};

// The escape for a body of this content type.
Escape escape_for(std::string_view content_type);

// Whether a body is JavaScript or CSS. What ends a text there depends on the place in the code, so
// no escape is right for all places.
bool is_script(std::string_view content_type);

struct TemplateValues {
  std::string_view rule;
  std::string_view key;
  const Decision& decision;
  const Request& request;
};

class TextTemplate {
 public:
  static Result<TextTemplate, Fault> parse(std::string_view text);

  // Calls `visit` with each property of requests that has a place in the template.
  template <typename Visit>
  void for_each_part(Visit visit) const {
    for (const Piece& piece : pieces_) {
      if (!piece.place) continue;
      if (const auto* part = std::get_if<KeyPart>(&*piece.place)) visit(*part);
    }
  }

  // The text that was parsed.
  const std::string& text() const { return text_; }

  // Whether it has places for texts, not only for numbers.
  bool has_texts() const;
  // Where in HTML a place must not stand (html_reader.h); empty if all may stand where they do.
  std::string danger_in_html() const;
  // Where in JSON a place must not stand: a text outside of strings, anything within an escape.
  std::string danger_in_json() const;

  void append(const TemplateValues& values, Escape escape, std::string& out) const;

 private:
  enum class Name : std::uint8_t {
    kRule,
    kKey,
    kLimit,
    kRemaining,
    kCount,
    kRetryAfter,
    kResetAfter,
  };
  struct Piece {
    std::string literal{};  // comes before the place, unchanged
    std::optional<std::variant<Name, KeyPart>> place{};
  };

  static bool is_text(const Piece& piece);
  static std::optional<std::variant<Name, KeyPart>> place_named(std::string_view name);

  std::string text_;
  std::vector<Piece> pieces_;
};

struct HeaderTemplate {
  std::string name;
  TextTemplate value;
};

}  // namespace weir
