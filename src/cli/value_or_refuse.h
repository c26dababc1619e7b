// value_or_refuse: what a command reads, or its mistakes and the end of the command.
//
// Thread rule: main's thread. Tested by tests/e2e/commands_test.py.

#pragma once

#include <CLI/Error.hpp>
#include <ostream>
#include <utility>
#include <variant>

#include "config/config.h"

namespace weir {

[[noreturn]] inline void refuse(const ConfigErrors& errors, std::ostream& out) {
  for (const auto& error : errors) out << error.to_string() << '\n';
  throw CLI::RuntimeError(1);
}

template <typename Value>
Value value_or_refuse(std::variant<Value, ConfigErrors> result, std::ostream& out) {
  if (const auto* errors = std::get_if<ConfigErrors>(&result)) refuse(*errors, out);
  return std::get<Value>(std::move(result));
}

}  // namespace weir
