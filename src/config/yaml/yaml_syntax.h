// Explains to people why a file is not YAML.
//
// yaml-cpp names the rule that was broken ("end of map not found"); these functions
// look at the text at that place and say what probably happened and what to do.
//
// Thread rule: pure functions. Tested by the broken files in src/config/testdata/.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml/yaml_document.h"
#include "config/yaml/yaml_text.h"

namespace weir {

// A text by lines. It views the text from which it was made.
class TextLines {
 public:
  explicit TextLines(std::string_view text);

  // The rest of the line from `place`, without the line's end. Empty beyond the text.
  std::string_view rest_of_line(const TextPlace& place) const;

 private:
  std::vector<std::string_view> lines_;
};

// `innermost`: the list or map that was not finished; null if there was none.
YamlError explain_syntax_error(std::string_view yaml_cpp_message, const TextPlace& place,
                               const YamlNode* innermost, const TextLines& lines);

std::string explain_second_document(const TextPlace& place, const TextLines& lines);

// The place of the quote that opens the text at `place`, if it is not closed on the same line. No
// field needs more than one line, so a quote over several lines is a mistake; yaml-cpp would take
// the end of the file for its end.
std::optional<TextPlace> find_unclosed_quote(const TextPlace& place, const TextLines& lines);

}  // namespace weir
