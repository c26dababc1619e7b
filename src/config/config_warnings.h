// config_warnings() finds what a configuration says but probably does not mean: rules that never
// apply, limits that all clients share, and trust in headers that anybody can send.
//
// Thread rule: pure. Tested by config_test.cc and the files in testdata/warned.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "config/config.h"

namespace weir {

// Begins every warning's message.
inline constexpr std::string_view kWarningMark = "warning: ";

// Sorted as in the file; `file` is only a name. REQUIRES: `config` is as it was read.
ConfigErrors config_warnings(const Config& config, const std::string& file);

// The warnings about one rule, for a change by request. It takes little time, and names other rules
// without their lines. REQUIRES: `config` is as it was read, except for the rule's places
ConfigErrors rule_warnings(const Config& config, std::size_t index);

// Notes on what is right and yet surprises: other spellings of a path pass a rule that does not say
// how paths are compared. Without kWarningMark.
ConfigErrors spelling_notes(const Config& config, const std::string& file);

}  // namespace weir
