#include "cli/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cstring>
#include <utility>

#include "load/target.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

constexpr std::size_t kReplyMax = std::size_t{1} << 20;

load::Target target_of(std::string_view server) try {
  return load::resolve_target(server, load::Reach::kAnywhere);
} catch (const load::LoadError& error) {
  throw HttpClientError(error.what());
}

asio::ip::tcp::endpoint endpoint_of(const load::Target& target) {
  asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), &target.address, target.address_size);
  endpoint.resize(target.address_size);
  return endpoint;
}

// In the words of somebody who waits for a server.
std::string reason(const beast::error_code& error) {
  if (error == beast::error::timeout) return "it took too long";
  if (error == asio::error::connection_refused) return "nothing listens there; is weir running?";
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return "it closed the connection";
  }
  if (error == http::error::body_limit) return "its reply is too long";
  const auto& http_errors = http::make_error_code(http::error::end_of_stream).category();
  return error.category() == http_errors ? "this is not HTTP" : error.message();
}

HttpReply ask(std::string_view server, http::request<http::string_body> request,
              Duration patience) {
  const auto target = target_of(server);
  request.set(http::field::host, target.authority);
  request.keep_alive(false);
  request.prepare_payload();

  asio::io_context loop;
  beast::tcp_stream stream(loop);
  beast::flat_buffer buffer(kReplyMax);
  http::response_parser<http::string_body> parser;
  parser.body_limit(kReplyMax);
  stream.expires_after(patience);  // all steps together
  beast::error_code failure;
  const auto then = [&failure](auto next) {
    return [&failure, next](const beast::error_code& error, auto...) {
      if (error) {
        failure = error;
      } else {
        next();
      }
    };
  };
  stream.async_connect(endpoint_of(target), then([&] {
                         http::async_write(stream, request, then([&] {
                                             http::async_read(stream, buffer, parser, then([] {}));
                                           }));
                       }));
  loop.run();
  if (failure) throw HttpClientError("no answer from " + target.authority + ": " + reason(failure));
  return {.status = parser.get().result_int(), .body = std::move(parser.get().body())};
}

}  // namespace

HttpReply post_json(std::string_view server, std::string_view path, std::string_view json,
                    Duration patience) {
  auto request = http::request<http::string_body>(
      http::verb::post, beast::string_view(path.data(), path.size()), 11, std::string(json));
  request.set(http::field::content_type, "application/json");
  return ask(server, std::move(request), patience);
}

HttpReply ask_json(std::string_view server, const HttpQuestion& question, Duration patience) {
  const auto method = http::string_to_verb(question.method);
  auto request = http::request<http::string_body>(method, question.path, 11, question.body);
  if (!question.body.empty()) request.set(http::field::content_type, "application/json");
  if (!question.token.empty()) {
    request.set(http::field::authorization, "Bearer " + question.token);
  }
  return ask(server, std::move(request), patience);
}

}  // namespace weir
