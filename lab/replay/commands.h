// The subcommands of `weir-lab`. Each function declares its command line and registers its work; a
// command that fails throws CLI::RuntimeError with its exit code.
//
// Thread rule: main's thread. Tested by tests/lab.

#pragma once

namespace CLI {
class App;
}

namespace weir::lab {

void add_replay_command(CLI::App& app);
void add_suggest_command(CLI::App& app);
void add_accuracy_command(CLI::App& app);
void add_simulate_command(CLI::App& app);
void add_swarm_command(CLI::App& app);

}  // namespace weir::lab
