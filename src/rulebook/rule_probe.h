// RuleProbe: a configuration that has one rule, as somebody wrote it in YAML or JSON. The reader of
// files reads it, and the probe finds the places of mistakes in the rule's own text, or the fields
// that have them.
//
// Thread rule: a value. Tested by rulebook_test.cc.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/config.h"

namespace weir {

class RuleProbe {
 public:
  // `others`: what the file says apart from its rules, as a JSON object.
  RuleProbe(const std::string& others, std::string_view rule);

  const std::string& text() const { return text_; }
  ConfigErrors as_written(ConfigErrors errors) const;
  // Without places, for a rule that nobody has sent as a whole: "match.path[1]: ..."
  ConfigErrors by_field(ConfigErrors errors) const;

 private:
  std::string text_;
  std::size_t lines_before_ = 0;
};

}  // namespace weir
