#include "rules/text/text_pattern.h"

#include <utility>

namespace weir {

TextPattern::TextPattern(std::string pattern)
    : text(std::move(pattern)), is_exact(text.find('*') == std::string::npos) {}

// Each '*' first takes nothing. If the rest does not fit, the last '*' takes one byte more. Earlier
// ones need not: what they left would also fit further on. At most pattern times text steps.
bool TextPattern::matches(std::string_view value) const {
  if (is_exact) return value == text;
  std::size_t in_text = 0;
  std::size_t in_value = 0;
  std::size_t after_star = std::string::npos;
  std::size_t star_took_to = 0;
  while (in_value < value.size()) {
    if (in_text < text.size() && text[in_text] == '*') {
      after_star = ++in_text;
      star_took_to = in_value;
    } else if (in_text < text.size() && text[in_text] == value[in_value]) {
      ++in_text;
      ++in_value;
    } else if (after_star != std::string::npos) {
      in_text = after_star;
      in_value = ++star_took_to;
    } else {
      return false;
    }
  }
  return text.find_first_not_of('*', in_text) == std::string::npos;
}

}  // namespace weir
