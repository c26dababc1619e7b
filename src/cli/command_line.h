// How a Weir program reads its command line, and its exit code.
//
// Thread rule: main's thread. Tested by tests/e2e/commands_test.py.

#pragma once

namespace CLI {
class App;
}

namespace weir {

// Runs the command that the line names. Returns 0, the code of a command that failed, 2 for a wrong
// line, or 1 for an error that no command expects.
int run_command_line(CLI::App& app, int argc, char** argv);

}  // namespace weir
