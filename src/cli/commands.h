// The subcommands of `weir`, one file each. main.cc has those that print a constant, and
// command_line.cc the completions.
//
// Each function declares its command line and registers its work. The work is done while the
// command line is parsed; a command that fails throws CLI::RuntimeError with its exit code, which
// main() returns. A wrong command line is exit code 2 everywhere.
//
// Thread rule: main's thread. Tested by tests/e2e/commands_test.py.

#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "config/config.h"
#include "weir/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weir {

void add_serve_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_busiest_command(CLI::App& app);
void add_block_commands(CLI::App& app);
void add_denials_command(CLI::App& app);
void add_rollout_command(CLI::App& app);
void add_tenants_command(CLI::App& app);
void add_validate_command(CLI::App& app);
void add_docs_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_gateway_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_lab_commands(CLI::App& app);
void add_completions_command(CLI::App& app);

// Prints the mistakes in a command's input, and ends the command.
// Tested by tests/e2e/refused_settings_test.py.
[[noreturn]] void refuse(const ConfigErrors& errors, std::ostream& out);

template <typename Value>
Value value_or_refuse(Result<Value, ConfigErrors> result, std::ostream& out) {
  if (!result) refuse(result.error(), out);
  return *std::move(result);
}

// --promises, and for how many nodes; returns the first option. Both must outlive the command.
CLI::Option* add_promise_options(CLI::App& command, bool& promises, std::int64_t& nodes);

// Prints how the file would have decided otherwise the requests of the last `over`, which a running
// server remembers. Tested by tests/e2e/dry_run_test.py.
void print_dry_runs(const std::string& file, const std::string& server, const std::string& over);
// The server's answer in lines. Throws if the answer is another program's.
std::string dry_runs_in_words(const boost::json::value& said);

// Sets up the log of commands that run until they are stopped: one line an event, on standard
// error. Tested by tests/e2e/serve_test.py.
void set_up_log();

}  // namespace weir
