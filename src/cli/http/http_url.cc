#include "cli/http/http_url.h"

#include <curl/curl.h>

#include <memory>

#include "base/ip_address.h"

namespace weir {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

// Empty if the URL has no such part.
std::string part(const Url& url, CURLUPart which) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, &curl_free);
  return text;
}

}  // namespace

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
