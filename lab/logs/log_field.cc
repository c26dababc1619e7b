#include "logs/log_field.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/duration_text.h"

namespace weir::lab {
namespace {

struct VariableRow {
  std::string_view variable;
  LogField field;
};

constexpr std::array kVariables = {
    VariableRow{"msec", LogField::kTime},
    VariableRow{"time_local", LogField::kTime},
    VariableRow{"time_iso8601", LogField::kTime},
    VariableRow{"weir_time", LogField::kStart},    // of nginx with Weir in it
    VariableRow{"accept_time", LogField::kStart},  // of HAProxy
    VariableRow{"request_time", LogField::kTook},
    VariableRow{"remote_addr", LogField::kClient},
    VariableRow{"realip_remote_addr", LogField::kNothing},
    VariableRow{"http_x_forwarded_for", LogField::kForwardedFor},
    VariableRow{"request", LogField::kRequest},
    VariableRow{"request_method", LogField::kMethod},
    VariableRow{"request_uri", LogField::kUri},
    VariableRow{"uri", LogField::kPath},
    VariableRow{"document_uri", LogField::kPath},
    VariableRow{"args", LogField::kQuery},
    VariableRow{"query_string", LogField::kQuery},
    VariableRow{"host", LogField::kHost},
    VariableRow{"http_host", LogField::kHost},
    VariableRow{"server_port", LogField::kPort},
    VariableRow{"status", LogField::kStatus},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view last_of_list(std::string_view list) {
  const auto comma = list.rfind(',');
  if (comma != std::string_view::npos) list.remove_prefix(comma + 1);
  while (list.starts_with(' ')) list.remove_prefix(1);
  return list;
}

bool is_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) > ' '; });
}

Duration seconds_in(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc()) return Duration{0};
  return duration_from_seconds(seconds).value_or(Duration{0});
}

}  // namespace

LogField field_of_variable(std::string_view variable) {
  const auto* const row = std::ranges::find(kVariables, variable, &VariableRow::variable);
  if (row != kVariables.end()) return row->field;
  if (variable.find("country_code") != std::string_view::npos) return LogField::kCountry;
  return variable.starts_with("http_") ? LogField::kHeader : LogField::kNothing;
}

void note_field(LogField field, std::string_view header, LogKnows& knows) {
  switch (field) {
    case LogField::kHost: knows.host = true; break;
    case LogField::kRequest:
    case LogField::kUri:
    case LogField::kQuery: knows.query = true; break;
    case LogField::kStatus: knows.status = true; break;
    case LogField::kCountry: knows.country = true; break;
    case LogField::kHeader: knows.add_header(header); break;
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

bool RequestMaker::take(LogField field, std::string_view text, std::string_view header) {
  LoggedRequest& request = line_->request;
  if (field == LogField::kNothing || text.empty() || text == "-") return true;
  switch (field) {
    case LogField::kNothing: return true;
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
    case LogField::kHeader: request.headers.push_back({header, text}); return true;
  }
  return true;
}

// The finer time counts, and that of the start before that of the line.
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
  const auto space = text.find(' ');
  if (space == std::string_view::npos || space == 0) return true;  // no request in it
  line_->request.method = text.substr(0, space);
  std::string_view uri = text.substr(space + 1);
  const auto last = uri.rfind(' ');
  if (last != std::string_view::npos && uri.substr(last + 1).starts_with("HTTP/")) {
    uri = uri.substr(0, last);
  }
  set_uri(uri);
  return true;
}

// A whole URL says the host, too.
void RequestMaker::set_uri(std::string_view uri) {
  const auto scheme = uri.starts_with('/') ? std::string_view::npos : uri.find("://");
  if (scheme != std::string_view::npos) {
    uri.remove_prefix(scheme + 3);
    const std::string_view host = uri.substr(0, uri.find_first_of("/?#"));
    if (!host.empty()) line_->request.host = host;
    uri.remove_prefix(host.size());
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
