#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/joined.h"
#include "base/nearest_name.h"
#include "cli/commands.h"

namespace weir {
namespace {

constexpr int kExitUsage = 2;

std::vector<std::string> names_of(const CLI::App& app, std::string_view kind) {
  std::vector<std::string> names;
  if (kind == "command") {
    for (const auto* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The name of an unknown command or option on the line; else empty. CLI11 only says that a command
// is required, or that an argument was not expected.
std::string name_meant(const CLI::App& app) {
  const auto* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  const auto rest = at->remaining();
  if (rest.empty()) return {};
  const auto said = rest.front().substr(0, rest.front().find('='));
  const std::string_view kind = said.starts_with("--") ? "option" : "command";
  const auto names = names_of(*at, kind);
  if (names.empty() || (kind == "command" && said.starts_with('-'))) return {};
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const auto name = at == &app ? app.get_name() : app.get_name() + " " + at->get_name();
  const auto hint = kind == "command" || !nearest_name(said, candidates).empty()
                        ? name_hint(said, candidates)
                        : "see " + name + " --help";
  return name + ": there is no " + std::string(kind) + " '" + said + "'; " + hint + "\n";
}

// Help is a success and a command's own exit code is its answer; anything else is a wrong command
// line.
int exit_code(const CLI::ParseError& error, const CLI::App& app) {
  if (const auto* done = dynamic_cast<const CLI::RuntimeError*>(&error)) {
    return done->get_exit_code();
  }
  if (const auto meant = name_meant(app); !meant.empty()) {
    std::cerr << meant;
    return kExitUsage;
  }
  return app.exit(error) == 0 ? 0 : kExitUsage;
}

// ---- completions, made of the command line itself, so that no text is written twice ----

struct Completed {
  std::string name;
  std::string what;
};

std::vector<Completed> commands_of(const CLI::App& app) {
  std::vector<Completed> commands;
  for (const auto* command : app.get_subcommands({})) {
    commands.push_back({command->get_name(), command->get_description()});
  }
  return commands;
}

// The long options of a command.
std::vector<Completed> options_of(const CLI::App& command) {
  std::vector<Completed> options;
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) {
      options.push_back({"--" + name, option->get_description()});
    }
  }
  return options;
}

std::string names_of(const std::vector<Completed>& completed) {
  return joined(completed, " ", &Completed::name);
}

std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) {
    text.replace(at, 1, "'\\''");
  }
  return "'" + text + "'";
}

std::string bash_completions(const CLI::App& app) {
  std::string script = "_weir() {\n  local words\n  case ${COMP_WORDS[1]} in\n";
  for (const auto* command : app.get_subcommands({})) {
    script +=
        "    " + command->get_name() + ") words='" + names_of(options_of(*command)) + "' ;;\n";
  }
  script +=
      "  esac\n  if ((COMP_CWORD == 1)); then words='" + names_of(commands_of(app)) + "'; fi\n";
  script += "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n";
  return script + "complete -o default -F _weir weir\n";
}

std::string zsh_list(const std::vector<Completed>& completed) {
  std::string list = "offered=(";
  for (const auto& [name, what] : completed) list += " " + quoted(name + ":" + what);
  return list + ")";
}

std::string zsh_completions(const CLI::App& app) {
  std::string script = "#compdef weir\nlocal -a offered\ncase $words[2] in\n";
  for (const auto* command : app.get_subcommands({})) {
    script += "  " + command->get_name() + ") " + zsh_list(options_of(*command)) + " ;;\n";
  }
  script += "esac\nif ((CURRENT == 2)); then " + zsh_list(commands_of(app)) + "; fi\n";
  return script + "_describe weir offered || _files\n";
}

std::string fish_completions(const CLI::App& app) {
  std::string script;
  for (const auto* command : app.get_subcommands({})) {
    script += "complete -c weir -f -n __fish_use_subcommand -a " + command->get_name() + " -d " +
              quoted(command->get_description()) + "\n";
    for (const auto& [name, what] : options_of(*command)) {
      script += "complete -c weir -n '__fish_seen_subcommand_from " + command->get_name() +
                "' -l " + name.substr(2) + " -d " + quoted(what) + "\n";
    }
  }
  return script;
}

}  // namespace

int run_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return exit_code(error, app);
  } catch (const std::exception& error) {
    std::cerr << app.get_name() << ": " << error.what() << '\n';
    return 1;
  }
}

void add_completions_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("completions", "Print what a shell needs to complete commands");
  const auto add_shell = [&](const std::string& name, std::string (*completions)(const CLI::App&)) {
    command->add_subcommand(name, "for " + name)->callback([&app, completions] {
      std::cout << completions(app);
    });
  };
  command->require_subcommand(1);
  add_shell("bash", bash_completions);
  add_shell("zsh", zsh_completions);
  add_shell("fish", fish_completions);
}

}  // namespace weir
