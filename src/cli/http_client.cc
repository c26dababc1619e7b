#include "cli/http_client.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>

#include "load/target.h"
#include "net/sockets/unique_fd.h"

namespace weir {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kReplyMax = std::size_t{1} << 20;

[[noreturn]] void fail(const load::Target& target, const std::string& what) {
  throw HttpClientError("no answer from " + target.authority + ": " + what);
}

// What errno says, in the words of somebody who waits for a server.
std::string reason() {
  if (errno == EAGAIN || errno == EINPROGRESS) return "it took too long";
  if (errno == ECONNREFUSED) return "nothing listens there; is weir running?";
  return std::strerror(errno);
}

UniqueFd connect_to(const load::Target& target, Duration patience) {
  constexpr auto kSecond = std::chrono::microseconds(std::chrono::seconds(1)).count();
  auto socket =
      UniqueFd(::socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  const auto bound =
      timeval{.tv_sec = patience.count() / kSecond, .tv_usec = patience.count() % kSecond};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof(bound));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound));  // and connect
  if (::connect(socket.get(), target.socket_address(), target.address_size) != 0) {
    fail(target, reason());
  }
  return socket;
}

std::string request_text(const load::Target& target, std::string_view path, std::string_view json) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: " + target.authority +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(json.size()) + "\r\n\r\n" + std::string(json);
}

void send_all(const load::Target& target, const UniqueFd& socket, std::string_view text) {
  while (!text.empty()) {
    const auto sent = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0) fail(target, reason());
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

HttpReply receive_reply(const load::Target& target, const UniqueFd& socket) {
  auto parser = http::response_parser<http::string_body>();
  parser.eager(true);
  parser.body_limit(kReplyMax);
  auto pending = std::string();
  auto chunk = std::array<char, 4'096>();
  auto error = boost::beast::error_code();
  while (!parser.is_done()) {
    const auto got = ::recv(socket.get(), chunk.data(), chunk.size(), 0);
    if (got < 0) fail(target, reason());
    if (got == 0) {
      parser.put_eof(error);
      if (error || !parser.is_done()) fail(target, "it closed the connection");
      break;
    }
    pending.append(chunk.data(), static_cast<std::size_t>(got));
    const auto used = parser.put(boost::asio::buffer(pending), error);
    if (error && error != http::error::need_more) fail(target, "this is not HTTP");
    pending.erase(0, used);
  }
  return {.status = parser.get().result_int(), .body = std::move(parser.get().body())};
}

}  // namespace

HttpReply post_json(std::string_view server, std::string_view path, std::string_view json,
                    Duration patience) {
  auto target = load::Target();
  try {
    target = load::resolve_target(server, load::Reach::kAnywhere);
  } catch (const load::LoadError& error) {
    throw HttpClientError(error.what());
  }
  const auto socket = connect_to(target, patience);
  send_all(target, socket, request_text(target, path, json));
  return receive_reply(target, socket);
}

}  // namespace weir
