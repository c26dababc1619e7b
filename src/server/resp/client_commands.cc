// CLIENT: words of connections about themselves.

#include <algorithm>
#include <string>

#include "base/ascii.h"
#include "server/resp/handlers.h"

namespace weir::resp {
namespace {

constexpr std::size_t kNameMax = 256;  // bytes

// Clients expect these fields; Weir does not measure them.
constexpr std::string_view kUnknownFigures =
    " sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 "
    "oll=0 omem=0 tot-mem=0 events=r";

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

// The line of CLIENT LIST. A core knows its own connections only, so it is the asker's.
std::string describe(const RespRequest& request, std::string_view command) {
  const RespClient& client = request.client;
  const auto age_s =
      std::chrono::floor<std::chrono::seconds>(request.now - client.connected).count();
  std::string line = "id=" + std::to_string(client.id);
  line += " addr=" + (client.address ? client.address->to_string() : "unix");
  line += " name=" + client.name;
  line += " age=" + std::to_string(age_s);
  line += " idle=0 flags=N db=0" + std::string(kUnknownFigures);
  line += " cmd=client|" + std::string(command);
  line += " user=default redir=-1 resp=" + std::to_string(static_cast<int>(client.protocol)) + "\n";
  return line;
}

}  // namespace

bool set_name(RespCore& core, RespRequest& request, std::string_view name) {
  if (!is_plain(name)) {
    core.reply(request).error(
        "ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
  }
  if (name.size() > kNameMax) {
    core.reply(request).error("ERR Client names cannot be longer than 256 bytes.");
    return false;
  }
  request.client.name = name;
  return true;
}

void handle_client_id(RespCore& core, RespRequest& request) {
  core.reply(request).integer(static_cast<std::int64_t>(request.client.id));
}

void handle_client_get_name(RespCore& core, RespRequest& request) {
  auto reply = core.reply(request);
  if (request.client.name.empty()) return reply.null();
  reply.bulk(request.client.name);
}

void handle_client_set_name(RespCore& core, RespRequest& request) {
  if (set_name(core, request, request.arguments[2])) core.reply(request).status("OK");
}

void handle_client_set_info(RespCore& core, RespRequest& request) {
  const std::string option = to_ascii_lower(request.arguments[2].substr(0, 128));
  auto reply = core.reply(request);
  if (option != "lib-name" && option != "lib-ver") {
    return reply.error("ERR Unrecognized option '" + option + "'");
  }
  if (!is_plain(request.arguments[3])) {
    return reply.error("ERR " + option + " cannot contain spaces, newlines or special characters.");
  }
  reply.status("OK");
}

void handle_client_info(RespCore& core, RespRequest& request) {
  core.reply(request).verbatim(describe(request, "info"));
}

void handle_client_list(RespCore& core, RespRequest& request) {
  core.reply(request).verbatim(describe(request, "list"));
}

void handle_client_on_off(RespCore& core, RespRequest& request) {
  const std::string_view word = request.arguments[2];
  auto reply = core.reply(request);
  if (!equal_ignoring_case(word, "on") && !equal_ignoring_case(word, "off")) {
    return reply.error("ERR syntax error");
  }
  reply.status("OK");
}

}  // namespace weir::resp
