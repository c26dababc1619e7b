// The subcommands of `weir-bench`. Each function declares its command line and registers its work;
// a command that fails throws CLI::RuntimeError with its exit code.
//
// Thread rule: main's thread. Tested by bench/smoke_test.py and tests/e2e/compare_test.py.

#pragma once

namespace CLI {
class App;
}

namespace weir {

void add_load_commands(CLI::App& app);  // one a protocol
void add_compare_command(CLI::App& app);

}  // namespace weir
