#include "cli/node/webhook_url.h"

#include <algorithm>

#include "base/decimal.h"
#include "base/ip_address.h"

namespace weir {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

bool is_host_char(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool is_target_char(char c) { return c > ' ' && c < '\x7f' && c != '#'; }

// Splits the authority. False if it is none.
bool read_host(WebhookUrl& url) {
  std::string_view rest = url.authority;
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return false;
    url.host = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    if (!IpAddress::parse(url.host)) return false;
  } else {
    url.host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(url.host.size());
    if (url.host.empty() || !std::ranges::all_of(url.host, is_host_char)) return false;
  }
  if (rest.empty()) return true;
  url.port = rest.substr(1);
  return rest.front() == ':' && read_decimal<std::uint16_t>(url.port).value_or(0) > 0;
}

}  // namespace

std::optional<WebhookUrl> WebhookUrl::parse(std::string_view text) {
  WebhookUrl url;
  if (text.starts_with(kHttps)) {
    url.scheme = Scheme::kHttps;
    url.port = "443";
    text.remove_prefix(kHttps.size());
  } else if (text.starts_with(kHttp)) {
    url.port = "80";
    text.remove_prefix(kHttp.size());
  } else {
    return std::nullopt;
  }
  const auto slash = std::min(text.find('/'), text.size());
  url.authority = text.substr(0, slash);
  url.target = slash == text.size() ? "/" : text.substr(slash);
  if (!std::ranges::all_of(url.target, is_target_char) || !read_host(url)) return std::nullopt;
  return url;
}

std::string WebhookUrl::origin() const {
  return std::string(scheme == Scheme::kHttps ? kHttps : kHttp) + authority;
}

bool WebhookUrl::is_private() const {
  return scheme == Scheme::kHttps || host == "localhost" || host == "::1" ||
         (host.starts_with("127.") && IpAddress::parse(host));
}

}  // namespace weir
