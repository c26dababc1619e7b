#include "cli/http/http_client.h"

#include <curl/curl.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "base/ip_address.h"

namespace weir {
namespace {

constexpr std::size_t kReplyMax = std::size_t{1} << 20;  // bytes of a reply's head, and of its body
// curl_multi_poll() returns at once when something happens; this only bounds one wait.
constexpr int kWaitMs = 10'000;

using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Multi = std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)>;
using Fields = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// Called by libcurl; returning anything but the piece's size ends the transfer.
std::size_t keep(const char* piece, std::size_t, std::size_t size, std::string* kept) noexcept try {
  if (kept->size() + size > kReplyMax) return 0;
  kept->append(piece, size);
  return size;
} catch (const std::bad_alloc&) {
  return 0;
}

class Transfer {
 public:
  Transfer(const HttpQuestion& question, Duration patience) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
    set(CURLOPT_URL, question.url.c_str());
    set(CURLOPT_DEFAULT_PROTOCOL, "http");
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);  // the process has threads
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(ms));
    set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    if (const char* const file = std::getenv("SSL_CERT_FILE")) set(CURLOPT_CAINFO, file);
    set(CURLOPT_USERAGENT, "weir");
    set(CURLOPT_CUSTOMREQUEST, question.method.c_str());
    if (!question.body.empty()) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.body.size()));
      set(CURLOPT_POSTFIELDS, question.body.c_str());
      add_field("Content-Type: application/json");
      add_field("Expect:");  // sends the body at once
    }
    if (!question.if_match.empty()) add_field(("If-Match: " + question.if_match).c_str());
    if (!question.token.empty()) add_field(("Authorization: Bearer " + question.token).c_str());
    set(CURLOPT_HTTPHEADER, fields_.get());
    set(CURLOPT_ERRORBUFFER, words_.data());
    set(CURLOPT_HEADERFUNCTION, &keep);
    set(CURLOPT_HEADERDATA, &head_);
    set(CURLOPT_WRITEFUNCTION, &keep);
    set(CURLOPT_WRITEDATA, &reply_.body);
    curl_multi_add_handle(multi_.get(), easy_.get());
  }
  ~Transfer() { curl_multi_remove_handle(multi_.get(), easy_.get()); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  Result<HttpReply, Fault> run(const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_.get()); });
    if (is_refused_) return Fault{"libcurl refuses an option"};
    int open = 1;
    while (open > 0) {
      if (stop.stop_requested()) return Fault{"it was not waited for"};
      curl_multi_perform(multi_.get(), &open);
      if (open > 0) curl_multi_poll(multi_.get(), nullptr, 0, kWaitMs, nullptr);
    }
    int rest = 0;
    const CURLMsg* const done = curl_multi_info_read(multi_.get(), &rest);
    if (done == nullptr || done->data.result != CURLE_OK) return Fault{reason(done)};
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &reply_.status);
    return std::move(reply_);
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    is_refused_ = is_refused_ || curl_easy_setopt(easy_.get(), option, value) != CURLE_OK;
  }

  void add_field(const char* field) {
    curl_slist* const longer = curl_slist_append(fields_.get(), field);
    if (longer == nullptr) throw std::bad_alloc();
    (void)fields_.release();
    fields_.reset(longer);
  }

  // The reason in the words of somebody who waits for a server.
  std::string reason(const CURLMsg* done) const {
    if (done == nullptr) return "libcurl has no result";
    long error = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
    switch (done->data.result) {
      case CURLE_OPERATION_TIMEDOUT: return "it took too long";
      case CURLE_COULDNT_CONNECT:
        if (error == ECONNREFUSED) return "nothing listens there; is it running?";
        break;
      case CURLE_PARTIAL_FILE:
      case CURLE_GOT_NOTHING:
      case CURLE_RECV_ERROR: return "it closed the connection";
      case CURLE_WRITE_ERROR: return "its reply is too long";
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_WEIRD_SERVER_REPLY: return "this is not HTTP";
      default: break;
    }
    return words_[0] != '\0' ? words_.data() : curl_easy_strerror(done->data.result);
  }

  const Easy easy_{curl_easy_init(), &curl_easy_cleanup};
  const Multi multi_{curl_multi_init(), &curl_multi_cleanup};
  bool is_refused_ = false;
  Fields fields_{nullptr, &curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> words_{};
  std::string head_;
  HttpReply reply_;
};

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// Empty if the URL lacks the part.
std::string part(const Url& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return text;
}

}  // namespace

Result<HttpReply, Fault> ask_http(const HttpQuestion& question, Duration patience,
                                  std::stop_token stop) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) return Fault{"libcurl does not start"};
  return Transfer(question, patience).run(stop);
}

std::optional<HttpUrl> HttpUrl::parse(const std::string& text) {
  const Url url(curl_url(), &curl_url_cleanup);
  const bool is_read =
      url && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK &&
      text.find('\0') == std::string::npos && text.find(":///") == std::string::npos;
  if (!is_read) return std::nullopt;
  const auto query = part(url, CURLUPART_QUERY);
  HttpUrl read{.text = text,
               .scheme = part(url, CURLUPART_SCHEME),
               .host = part(url, CURLUPART_HOST),
               .port = part(url, CURLUPART_PORT),
               .target = part(url, CURLUPART_PATH) + (query.empty() ? "" : "?" + query)};
  const bool is_http = read.scheme == "http" || read.scheme == "https";
  const bool has_more = !part(url, CURLUPART_USER).empty() || text.find('#') != std::string::npos;
  if (!is_http || has_more || read.port == "0") return std::nullopt;
  return read;
}

bool HttpUrl::is_private() const {
  return scheme == "https" || host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && IpAddress::parse(host));
}

}  // namespace weir
