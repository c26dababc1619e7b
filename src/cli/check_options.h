// The options that say what a check asks for: of `weir check` and `weir bench http`.
//
// Thread rule: main's thread. Tested by tests/e2e/commands_test.py.

#pragma once

#include <string>

#include "load/http_codec.h"

namespace CLI {
class App;
}

namespace weir {

// `spec` must outlive the command.
void add_check_options(CLI::App& command, load::CheckSpec& spec);

// Why an option refuses a text; empty: it is a duration above 0.
std::string mistake_in_duration(const std::string& text);

}  // namespace weir
