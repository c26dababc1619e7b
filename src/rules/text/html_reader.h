// HtmlReader: reads HTML up to a place, and says whether a text that a client chose may stand there
// if it is escaped as HTML.
//
// In text and quoted attributes it may. In a tag it would be markup, and in code (script, style,
// onclick) or at the beginning of an address (javascript:) it would be run, whatever the escape.
//
// Thread rule: a value. Tested by text_template_test.cc.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

class HtmlReader {
 public:
  void read(std::string_view html);
  // Something harmless stands here.
  void filled() { value_has_begun_ = true; }

  // Where it must not stand: "within <script>". Empty: it may stand here.
  std::string danger() const;

 private:
  enum class In : std::uint8_t { kText, kTag, kValue, kComment, kCode };

  void step(char c);
  void step_in_tag(char c);
  std::string_view tag_name() const;
  std::string_view attribute() const;

  In in_ = In::kText;
  std::string tag_;  // without values, in lower case
  std::string attribute_;
  char quote_ = '"';
  bool value_has_begun_ = false;
  std::string last_;  // bytes of a comment or of code, in lower case
};

}  // namespace weir
