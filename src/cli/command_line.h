// How a program of ours reads its command line, and with which code it exits.
//
// Thread rule: main's thread. Tested by tests/e2e/commands_test.py.

#pragma once

namespace CLI {
class App;
}

namespace weir {

// Runs the command that the line names. Returns 0, the code of the command that failed, 2 for a
// line that makes no sense, or 1 for what no command expects.
int run_command_line(CLI::App& app, int argc, char** argv);

}  // namespace weir
