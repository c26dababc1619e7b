#include "cli/node/webhook.h"

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <exception>
#include <utility>

#include "base/ip_address.h"

namespace weir {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Tcp = asio::ip::tcp;

constexpr std::size_t kHeadMax = std::size_t{16} << 10;  // of the answer; nobody reads its body

http::request<http::string_body> request_of(const Webhook::Options& options,
                                            const std::string& json) {
  const std::string& target = options.url.target;
  auto request = http::request<http::string_body>(
      http::verb::post, beast::string_view(target.data(), target.size()), 11, json);
  request.set(http::field::host, options.url.authority);
  request.set(http::field::content_type, "application/json");
  request.set(http::field::user_agent, "weir");
  if (options.token) request.set(http::field::authorization, "Bearer " + *options.token);
  request.keep_alive(false);
  request.prepare_payload();
  return request;
}

// One POST. What happens on `loop` ends with its stop().
class Exchange {
  // The next step, unless this one has failed.
  template <typename Step>
  auto next(Step step) {
    return [this, step](const beast::error_code& error, const auto& result) {
      if (error) {
        finish(error.message());
      } else {
        step(result);
      }
    };
  }

 public:
  Exchange(asio::io_context& loop, const Webhook::Options& options, const std::string& json)
      : loop_(loop),
        url_(options.url),
        request_(request_of(options, json)),
        timer_(loop),
        resolver_(loop),
        stream_(loop, tls_) {
    timer_.expires_after(options.patience);
    timer_.async_wait([this](const beast::error_code& error) {
      if (!error) finish("it took too long");
    });
    if (is_tls() && !prepare_tls()) return;
    resolver_.async_resolve(url_.host, url_.port, next([this](const auto& found) {
                              beast::get_lowest_layer(stream_).async_connect(
                                  found, next([this](const auto&) { connected(); }));
                            }));
  }

  // The status of the answer; 0: there is none, and fault() says why.
  unsigned status() const { return status_; }
  const std::string& fault() const { return fault_; }

 private:
  bool is_tls() const { return url_.scheme == WebhookUrl::Scheme::kHttps; }

  bool prepare_tls() {
    SSL_CTX_set_min_proto_version(tls_.native_handle(), TLS1_2_VERSION);
    tls_.set_default_verify_paths();
    stream_.set_verify_mode(asio::ssl::verify_peer);
    stream_.set_verify_callback(asio::ssl::host_name_verification(url_.host));
    const bool is_address = IpAddress::parse(url_.host).has_value();
    if (is_address || SSL_set_tlsext_host_name(stream_.native_handle(), url_.host.c_str()) == 1) {
      return true;
    }
    finish("TLS has no room for the host's name");
    return false;
  }

  void connected() {
    if (!is_tls()) return send(stream_.next_layer());
    stream_.async_handshake(asio::ssl::stream_base::client, [this](const beast::error_code& error) {
      if (error) return finish(error.message());
      send(stream_);
    });
  }

  template <typename Stream>
  void send(Stream& stream) {
    http::async_write(stream, request_, next([this, &stream](std::size_t) {
                        http::async_read_header(stream, answer_, parser_, next([this](std::size_t) {
                                                  status_ = parser_.get().result_int();
                                                  finish("");
                                                }));
                      }));
  }

  void finish(std::string fault) {
    fault_ = std::move(fault);
    loop_.stop();
  }

  asio::io_context& loop_;
  const WebhookUrl& url_;
  const http::request<http::string_body> request_;
  asio::ssl::context tls_{asio::ssl::context::tls_client};
  asio::steady_timer timer_;
  Tcp::resolver resolver_;
  beast::ssl_stream<beast::tcp_stream> stream_;
  beast::flat_buffer answer_{kHeadMax};
  http::response_parser<http::empty_body> parser_;
  unsigned status_ = 0;
  std::string fault_ = "the node stops";
};

}  // namespace

Webhook::Webhook(Options options, Done done)
    : options_(std::move(options)), done_(std::move(done)), thread_([this] { work_off(); }) {}

void Webhook::post(std::string json) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_stopping_) return;
    if (waiting_.size() == kWaitingMax) {
      figures_.dropped += 1;
      return;
    }
    waiting_.push_back(std::move(json));
  }
  wake_.notify_one();
}

void Webhook::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
    if (loop_ != nullptr) loop_->stop();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Webhook::Figures Webhook::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

void Webhook::work_off() {
  while (const auto json = next()) {
    const Outcome outcome = deliver(*json);
    {
      const std::scoped_lock lock(mutex_);
      if (is_stopping_ && !outcome.fault.empty()) return;
      (outcome.fault.empty() ? figures_.delivered : figures_.failed) += 1;
    }
    done_(outcome);
  }
}

// Nothing when the node stops.
std::optional<std::string> Webhook::next() {
  auto lock = std::unique_lock(mutex_);
  wake_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
  if (is_stopping_) return std::nullopt;
  auto json = std::move(waiting_.front());
  waiting_.pop_front();
  return json;
}

Webhook::Outcome Webhook::deliver(const std::string& json) {
  Outcome outcome;
  for (std::size_t tried = 0;; ++tried) {
    auto made = attempt(json);
    outcome = {.fault = std::move(made.fault), .attempts = tried + 1};
    if (outcome.fault.empty() || !made.may_try_again) return outcome;
    if (tried == options_.pauses.size() || !pause(options_.pauses[tried])) return outcome;
  }
}

// False if the node stops.
bool Webhook::pause(Duration pause) {
  auto lock = std::unique_lock(mutex_);
  return !wake_.wait_for(lock, pause, [this] { return is_stopping_; });
}

// The loop of the attempt under way, for as long as there is one.
class Webhook::Underway {
 public:
  Underway(Webhook& webhook, asio::io_context& loop) : webhook_(webhook) {
    const std::scoped_lock lock(webhook_.mutex_);
    webhook_.loop_ = &loop;
    if (webhook_.is_stopping_) loop.stop();
  }
  ~Underway() {
    const std::scoped_lock lock(webhook_.mutex_);
    webhook_.loop_ = nullptr;
  }
  Underway(const Underway&) = delete;
  Underway& operator=(const Underway&) = delete;

 private:
  Webhook& webhook_;
};

Webhook::Attempt Webhook::attempt(const std::string& json) try {
  asio::io_context loop;
  const Underway underway(*this, loop);
  Exchange exchange(loop, options_, json);
  loop.run();
  const unsigned status = exchange.status();
  if (status == 0) return {.fault = exchange.fault()};
  if (status / 100 == 2) return {};
  return {.fault = "it answered " + std::to_string(status),
          .may_try_again = status == 429 || status / 100 == 5};
} catch (const std::exception& error) {
  return {.fault = error.what()};
}

}  // namespace weir
