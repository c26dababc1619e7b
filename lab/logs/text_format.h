// Formats of text with names of their own.
//
// Thread rule: as log_format.h. Tested by log_format_test.cc.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "logs/log_format.h"

namespace weir::lab {

Result<std::unique_ptr<LogFormat>, std::string> make_named_format(std::string_view name,
                                                                  std::string_view log_format);

}  // namespace weir::lab
