// Shared by the commands that use the admin routes of a running server.
//
// Thread rule: main's thread. Tested by tests/e2e/admin_commands_test.py.

#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cli/http/http_client.h"
#include "weir/time.h"

namespace CLI {
class App;
}

namespace weir {

struct AdminClient {
  std::string command;                           // its name, for complaints
  std::string server = "http://127.0.0.1:8080";  // a path may follow, of nginx's weir_admin
  bool json = false;                             // print the server's reply as it is
  Duration patience = std::chrono::seconds(5);   // with each question

  // --server and --json.
  void add_options(CLI::App& app);

  // The body of the reply. Ends the command with exit code 2 if there is no reply, or no success.
  // The token comes from the environment, as others can see command lines. show() prints the body,
  // as it is with --json, else in the words of `in_words`.
  std::string ask(HttpQuestion question) const;
  void show(const HttpQuestion& question,
            const std::function<std::string(const boost::json::value& said)>& in_words) const;

  // Says that a change holds on this node alone, because Redis is away; else empty.
  std::string reach() const;

  [[noreturn]] void fail(const std::string& message) const;
};

// A value of a reply, "-" if it is null, cut if it is long. Clients have sent the keys, so nothing
// in them may control the terminal.
std::string text_of(const boost::json::value& value);
// The same for a text that people read to its end.
std::string sentence_of(const boost::json::value& value);

// Empty if there is no such field, or `from` is no object.
std::string text_in(const boost::json::value& from, std::string_view field);

// The user who types a command, for people who look later.
std::string user_name();

// The key of an entry, its parts without their lengths; else the key's hash.
std::string key_in(const boost::json::object& entry);

// For a query: all but letters and digits as %XX.
std::string escaped(std::string_view text);

// A number on the right of so many columns, or a text on their left.
std::string right(std::string_view text, std::size_t columns);
std::string left(std::string_view text, std::size_t columns);

}  // namespace weir
