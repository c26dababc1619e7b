// HtmlReader: reads HTML up to a place, and says whether a text that a client chose may stand there
// after it is escaped as HTML.
//
// It may stand in text and in quoted attributes. In a tag it would be markup. In code (script,
// style, onclick, javascript:) or at the beginning of an address, up to its host, it would run,
// whatever the escape. Tags are read as browsers read them: in <a href=/?q="{{key}}"> the quotes
// are part of a value that the next blank ends.
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
  // Puts something harmless in this place.
  void filled() { value_ += '0'; }

  // Where the text must not stand: "within <script>". Empty: it may stand here.
  std::string danger() const;

 private:
  enum class In : std::uint8_t {
    kText,
    kTag,        // the tag's name
    kNames,      // names of attributes
    kEquals,     // behind the '=' of an attribute
    kBareValue,  // a value without quotes: a blank ends it
    kValue,
    kComment,
    kCode,
  };

  void step(char c);
  void step_in_tag(char c);
  void step_in_names(char c);
  void next_attribute();
  void end_tag();
  std::string danger_in_value() const;

  // All texts are in lower case.
  In in_ = In::kText;
  std::string tag_;
  std::string attribute_;
  bool name_has_ended_ = false;  // the attribute's name
  char quote_ = '"';
  std::string value_;  // without blanks
  std::string last_;   // bytes of a comment or of code
};

}  // namespace weir
