// Lines of JSON. A field is known by its name, and by the names of the objects it is in.

#include <simdjson.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text_hash.h"
#include "logs/log_field.h"
#include "logs/log_format.h"

namespace weir::lab {
namespace {

namespace od = simdjson::ondemand;

constexpr int kDepthMax = 4;

struct FieldRow {
  std::string_view path;
  LogField field;
  std::string_view header{};
};

constexpr std::array kFields = {
    // Caddy
    FieldRow{"ts", LogField::kTime},
    FieldRow{"duration", LogField::kTook},
    FieldRow{"request.client_ip", LogField::kClient},
    FieldRow{"request.remote_ip", LogField::kPeer},
    FieldRow{"request.remote_addr", LogField::kPeer},
    FieldRow{"request.method", LogField::kMethod},
    FieldRow{"request.uri", LogField::kUri},
    FieldRow{"request.host", LogField::kHost},
    // Traefik
    FieldRow{"StartUTC", LogField::kStart},
    FieldRow{"ClientHost", LogField::kClient},
    FieldRow{"RequestMethod", LogField::kMethod},
    FieldRow{"RequestPath", LogField::kUri},
    FieldRow{"RequestHost", LogField::kHost},
    FieldRow{"DownstreamStatus", LogField::kStatus},
    // Envoy
    FieldRow{"start_time", LogField::kStart},
    FieldRow{"downstream_remote_address", LogField::kClient},
    FieldRow{"x_forwarded_for", LogField::kForwardedFor},
    FieldRow{"path", LogField::kUri},
    FieldRow{"authority", LogField::kHost},
    FieldRow{"response_code", LogField::kStatus},
    FieldRow{"user_agent", LogField::kHeader, "User-Agent"},
    FieldRow{"referer", LogField::kHeader, "Referer"},
    // AWS WAF
    FieldRow{"timestamp", LogField::kStart},
    FieldRow{"httpRequest.clientIp", LogField::kClient},
    FieldRow{"httpRequest.country", LogField::kCountry},
    FieldRow{"httpRequest.httpMethod", LogField::kMethod},
    FieldRow{"httpRequest.uri", LogField::kPath},
    FieldRow{"httpRequest.args", LogField::kQuery},
    // Cloudflare Logpush
    FieldRow{"EdgeStartTimestamp", LogField::kStart},
    FieldRow{"ClientIP", LogField::kClient},
    FieldRow{"ClientCountry", LogField::kCountry},
    FieldRow{"ClientRequestMethod", LogField::kMethod},
    FieldRow{"ClientRequestURI", LogField::kUri},
    FieldRow{"ClientRequestPath", LogField::kPath},
    FieldRow{"ClientRequestHost", LogField::kHost},
    FieldRow{"ClientRequestUserAgent", LogField::kHeader, "User-Agent"},
    FieldRow{"ClientRequestReferer", LogField::kHeader, "Referer"},
    FieldRow{"EdgeResponseStatus", LogField::kStatus},
    // others
    FieldRow{"time", LogField::kTime},
    FieldRow{"@timestamp", LogField::kTime},
    FieldRow{"client_ip", LogField::kClient},
    FieldRow{"method", LogField::kMethod},
    FieldRow{"country", LogField::kCountry},
};

// Objects whose members are headers, and the beginning of names that are.
constexpr std::array<std::string_view, 3> kHeaderPrefixes = {"request.headers.", "RequestHeaders.",
                                                             "request_"};
constexpr std::string_view kCaddyHeaders = "request.headers";
constexpr std::string_view kWafHeaders = "httpRequest.headers";

class JsonFormat final : public LogFormat {
 public:
  JsonFormat() {
    for (const FieldRow& row : kFields) rows_.emplace(row.path, row);
  }

  std::string_view read(LogLine& line) override {
    maker_.begin(line);
    if (line.text.find('{') != 0) return "it is no JSON object";
    line.text.reserve(line.text.size() + simdjson::SIMDJSON_PADDING);
    line.decoded.clear();
    line.decoded.reserve(2 * line.text.size() + 1);
    line_ = &line;
    path_.clear();
    od::document document;
    od::object object;
    if (parser_.iterate(line.text.data(), line.text.size(), line.text.capacity()).get(document) ||
        document.get_object().get(object)) {
      return "it is no JSON object";
    }
    if (!read_object(object, 0)) return fault_;
    return maker_.finish();
  }

  const LogKnows& knows() const override { return knows_; }
  std::string_view name() const override { return "JSON"; }

 private:
  bool fail(std::string_view fault) {
    fault_ = fault;
    return false;
  }

  bool read_object(od::object& object, int depth) {
    if (path_ == kCaddyHeaders) knows_.all_headers = true;
    const std::size_t size = path_.size();
    for (auto each : object) {
      od::field field;
      std::string_view key;
      if (std::move(each).get(field) || field.unescaped_key().get(key))
        return fail("it is no JSON");
      path_.append(size == 0 ? "" : ".").append(key);
      if (!read_value(field.value(), depth)) return false;
      path_.resize(size);
    }
    return true;
  }

  bool read_value(od::value value, int depth) {
    od::json_type type{};
    if (value.type().get(type)) return fail("it is no JSON");
    if (type == od::json_type::object && depth < kDepthMax) {
      od::object object;
      return !value.get_object().get(object) ? read_object(object, depth + 1)
                                             : fail("it is no JSON");
    }
    if (type == od::json_type::array) return read_array(value, depth);
    if (type != od::json_type::string && type != od::json_type::number) return true;
    std::string_view text;
    if (type == od::json_type::number) {
      text = value.raw_json_token();
    } else if (value.get_string().get(text)) {
      return fail("it is no JSON");
    }
    while (text.ends_with(' ')) text.remove_suffix(1);
    return take(kept(text));
  }

  // The values of a header, or a list of headers with name and value.
  bool read_array(od::value& value, int depth) {
    od::array array;
    if (value.get_array().get(array)) return fail("it is no JSON");
    const bool is_list = path_ == kWafHeaders;
    for (auto each : array) {
      od::value element;
      if (each.get(element)) return fail("it is no JSON");
      if (is_list ? !read_named(element) : !read_value(element, depth + 1)) return false;
      if (depth > kDepthMax) break;
    }
    return true;
  }

  bool read_named(od::value& element) {
    od::object object;
    std::string_view name;
    std::string_view value;
    if (element.get_object().get(object) || object["name"].get_string().get(name) ||
        object["value"].get_string().get(value)) {
      return true;
    }
    const std::string_view header = kept(name);
    return take_header(header, kept(value));
  }

  bool take_header(std::string_view header, std::string_view text) {
    if (equal_ignoring_case(header, "Host") && line_->request.host.empty()) {
      return take_as({{}, LogField::kHost}, text);
    }
    return take_as({{}, LogField::kHeader, header}, text);
  }

  bool take(std::string_view text) {
    if (const auto row = rows_.find(path_); row != rows_.end()) return take_as(row->second, text);
    if (const LogField field = field_of_variable(path_); field != LogField::kNothing) {
      const std::string_view name = field == LogField::kHeader ? variable_header() : "";
      return take_as({{}, field, name}, text);
    }
    for (const std::string_view prefix : kHeaderPrefixes) {
      if (path_.starts_with(prefix)) return take_header(kept(path_.substr(prefix.size())), text);
    }
    return true;
  }

  bool take_as(const FieldRow& row, std::string_view text) {
    note_field(row.field, row.header, knows_);
    return maker_.take(row.field, text, row.header) || fail("a field of it has another form");
  }

  // http_user_agent, which nginx's users like as a name, is User-Agent.
  std::string_view variable_header() {
    std::string name = path_.substr(std::string_view("http_").size());
    for (char& c : name) c = c == '_' ? '-' : c;
    return kept(name);
  }

  // A copy that lives as long as the line. The room for it is reserved: names and texts of a line
  // are together no longer than the line, but for names that are taken twice.
  std::string_view kept(std::string_view text) {
    std::string& decoded = line_->decoded;
    if (decoded.capacity() - decoded.size() < text.size()) return {};
    const std::size_t begin = decoded.size();
    decoded.append(text);
    return std::string_view(decoded).substr(begin);
  }

  std::unordered_map<std::string_view, FieldRow> rows_;
  od::parser parser_;
  LogLine* line_ = nullptr;
  std::string path_;
  std::string_view fault_;
  LogKnows knows_;
  RequestMaker maker_;
};

}  // namespace

std::unique_ptr<LogFormat> make_json_format() { return std::make_unique<JsonFormat>(); }

}  // namespace weir::lab
