// weir replay, suggest, simulate: start weir-lab, a separate program next to this one.

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace weir {
namespace {

[[noreturn]] void become_lab(const CLI::App& command) {
  const auto program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("weir-lab").string();
  std::vector<std::string> words = command.remaining();
  words.insert(words.begin(), {program, command.get_name()});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  std::cerr << "weir " << command.get_name() << ": there is no " << program
            << "; install the package weir-lab\n";
  throw CLI::RuntimeError(2);
}

}  // namespace

void add_lab_commands(CLI::App& app) {
  for (auto* const command :
       {app.add_subcommand("replay", "Say what rules would have done to an access log"),
        app.add_subcommand("suggest", "Write limits that the clients of an access log keep"),
        app.add_subcommand("simulate", "Try rules on a fleet whose parts fail, in virtual time")}) {
    command->prefix_command()->set_help_flag();
    command->callback([command] { become_lab(*command); });
  }
}

}  // namespace weir
