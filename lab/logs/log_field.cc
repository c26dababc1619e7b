#include "logs/log_field.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "base/byte_search.h"
#include "base/duration_text.h"
#include "proto/http/host.h"

namespace weir::lab {
namespace {

// Names with one meaning, with blanks in between: nginx's, and those of Caddy, Traefik, Envoy, AWS
// WAF and Cloudflare Logpush.
struct FieldRow {
  LogField field;
  std::string_view names;
  std::string_view header{};
};
constexpr std::array kFields = {
    FieldRow{LogField::kTime, "msec time_local time_iso8601 ts time @timestamp"},
    FieldRow{LogField::kStart,
             "weir_time accept_time StartUTC start_time timestamp EdgeStartTimestamp"},
    FieldRow{LogField::kTook, "request_time duration"},
    FieldRow{
        LogField::kClient,
        "remote_addr request.client_ip ClientHost downstream_remote_address ClientIP client_ip "
        "httpRequest.clientIp"},
    FieldRow{LogField::kPeer, "request.remote_ip request.remote_addr"},
    FieldRow{LogField::kForwardedFor, "http_x_forwarded_for x_forwarded_for"},
    FieldRow{LogField::kRequest, "request"},
    FieldRow{LogField::kMethod,
             "request_method request.method RequestMethod ClientRequestMethod method "
             "httpRequest.httpMethod"},
    FieldRow{LogField::kUri, "request_uri request.uri RequestPath path ClientRequestURI"},
    FieldRow{LogField::kPath, "uri document_uri httpRequest.uri ClientRequestPath"},
    FieldRow{LogField::kQuery, "args query_string httpRequest.args"},
    FieldRow{LogField::kHost,
             "host http_host request.host RequestHost authority ClientRequestHost"},
    FieldRow{LogField::kPort, "server_port"},
    FieldRow{LogField::kStatus, "status DownstreamStatus response_code EdgeResponseStatus"},
    FieldRow{LogField::kCountry, "httpRequest.country ClientCountry country"},
    FieldRow{LogField::kHeader, "user_agent ClientRequestUserAgent", "User-Agent"},
    FieldRow{LogField::kHeader, "referer ClientRequestReferer", "Referer"},
};

using Meanings = std::unordered_map<std::string_view, const FieldRow*>;

const Meanings& meanings() {
  static const Meanings all = [] {
    Meanings made;
    for (const FieldRow& row : kFields) {
      for (std::string_view rest = row.names; !rest.empty();) {
        made.emplace(take_until(rest, ' '), &row);
      }
    }
    return made;
  }();
  return all;
}

// http_user_agent means User-Agent.
std::string header_name(std::string_view variable) {
  std::string name(variable.substr(std::string_view("http_").size()));
  bool starts = true;
  for (char& c : name) {
    if (c == '_') c = '-';
    if (starts && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    starts = c == '-';
  }
  return name;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view last_of_list(std::string_view list) {
  const auto comma = list.rfind(',');
  if (comma != std::string_view::npos) list.remove_prefix(comma + 1);
  while (list.starts_with(' ')) list.remove_prefix(1);
  return list;
}

bool is_word(std::string_view text) {
  return !has_byte(text, [](ByteGroup bytes) { return bytes <= ' '; });
}

Duration seconds_in(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc()) return Duration{0};
  return duration_from_seconds(seconds).value_or(Duration{0});
}

}  // namespace

Meaning meaning_of(std::string_view name) {
  if (const auto known = meanings().find(name); known != meanings().end()) {
    return {known->second->field, std::string(known->second->header)};
  }
  if (name.find("country_code") != std::string_view::npos) return {LogField::kCountry};
  if (name.starts_with("http_")) return {LogField::kHeader, header_name(name)};
  return {};
}

void note_field(const Meaning& meaning, LogKnows& knows) {
  switch (meaning.field) {
    case LogField::kHost: knows.host = true; break;
    case LogField::kRequest:
    case LogField::kUri:
    case LogField::kQuery: knows.query = true; break;
    case LogField::kStatus: knows.status = true; break;
    case LogField::kCountry: knows.country = true; break;
    case LogField::kHeader: knows.add_header(meaning.header); break;
    case LogField::kForwardedFor: knows.add_header("X-Forwarded-For"); break;
    default: break;
  }
}

void RequestMaker::begin(LogLine& line) {
  line_ = &line;
  auto headers = std::move(line.request.headers);
  headers.clear();
  line.request = {};
  line.request.headers = std::move(headers);
  has_time_ = is_start_ = false;
  took_ = Duration{0};
  path_ = query_ = {};
}

bool RequestMaker::take_other(LogField field, std::string_view text) {
  LoggedRequest& request = line_->request;
  switch (field) {
    case LogField::kNothing:
    case LogField::kHeader: return true;  // take() has
    case LogField::kTime:
    case LogField::kStart: return take_time(field, text);
    case LogField::kTook: took_ = seconds_in(text); return true;
    case LogField::kClient: request.client = text; return is_word(text);
    case LogField::kForwardedFor:
      request.headers.push_back({"X-Forwarded-For", text});
      text = last_of_list(text);
      [[fallthrough]];
    case LogField::kPeer:
      if (request.client.empty()) request.client = text;
      return true;
    case LogField::kRequest: return take_request(text);
    case LogField::kMethod: request.method = text; return is_word(text);
    case LogField::kUri: set_uri(text); return true;
    case LogField::kPath: path_ = text; return true;
    case LogField::kQuery: query_ = text; return true;
    case LogField::kHost: request.host = text; return is_word(text);
    case LogField::kPort: return std::ranges::all_of(text, is_digit);
    case LogField::kStatus:
      if (text.size() != 3 || !std::ranges::all_of(text, is_digit)) return false;
      request.status = (text[0] - '0') * 100 + (text[1] - '0') * 10 + (text[2] - '0');
      return true;
    case LogField::kCountry: request.country = text; return true;
  }
  return true;
}

// The finer time counts, and the start's time before the line's.
bool RequestMaker::take_time(LogField field, std::string_view text) {
  const auto time = times_.read(text);
  if (!time) return false;
  const bool is_start = field == LogField::kStart;
  if (has_time_ && is_start_ && !is_start) return true;
  if (has_time_ && is_start == is_start_ && time_.is_exact && !time->is_exact) return true;
  time_ = *time;
  has_time_ = true;
  is_start_ = is_start;
  return true;
}

bool RequestMaker::take_request(std::string_view text) {
  constexpr std::string_view kVersion = "HTTP/";
  const char* const end = text.data() + text.size();
  const char* const space =
      find_byte(text.data(), end, [](ByteGroup bytes) { return bytes == ' '; });
  if (space == end || space == text.data()) return true;  // the line has no request
  line_->request.method = {text.data(), space};
  const char* last = end;
  while (*--last != ' ') {
  }
  const bool has_version = last != space &&
                           static_cast<std::size_t>(end - last) > kVersion.size() &&
                           std::memcmp(last + 1, kVersion.data(), kVersion.size()) == 0;
  set_uri({space + 1, has_version ? last : end});
  return true;
}

// A whole URL also has the host.
void RequestMaker::set_uri(std::string_view uri) {
  if (const auto host = take_host(uri)) {
    if (!host->empty()) line_->request.host = *host;
    if (uri.empty()) uri = "/";
  }
  line_->request.uri = uri;
}

std::string_view RequestMaker::joined(std::string_view path, std::string_view query) {
  std::string& decoded = line_->decoded;
  const std::size_t size = path.size() + 1 + query.size();
  if (query.empty() || decoded.capacity() - decoded.size() < size) return path;
  const std::size_t begin = decoded.size();
  decoded.append(path).append("?").append(query);
  return std::string_view(decoded).substr(begin);
}

std::string_view RequestMaker::finish() {
  LoggedRequest& request = line_->request;
  if (request.uri.empty() && !path_.empty()) set_uri(joined(path_, query_));
  if (!has_time_) return "it has no time";
  if (request.method.empty() || request.uri.empty()) return "it has no method and path";
  request.time = time_.at;
  if (is_start_ || took_ == Duration{0}) return {};
  request.time -= time_.is_exact ? took_ : std::chrono::floor<std::chrono::seconds>(took_);
  return {};
}

}  // namespace weir::lab
