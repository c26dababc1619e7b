// value_or_refuse: what a command reads, or its mistakes and the end of the command.
//
// Thread rule: main's thread. Tested by tests/e2e/refused_settings_test.py.

#pragma once

#include <CLI/Error.hpp>
#include <ostream>
#include <utility>

#include "config/config.h"
#include "weir/result.h"

namespace weir {

[[noreturn]] inline void refuse(const ConfigErrors& errors, std::ostream& out) {
  for (const auto& error : errors) out << error.to_string() << '\n';
  out << "see " WEIR_DOCS "reference/settings.md#mistakes\n";
  throw CLI::RuntimeError(1);
}

template <typename Value>
Value value_or_refuse(Result<Value, ConfigErrors> result, std::ostream& out) {
  if (!result) refuse(result.error(), out);
  return *std::move(result);
}

}  // namespace weir
