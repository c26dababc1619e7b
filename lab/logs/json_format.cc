// Lines of JSON. A field's name, and the names of the objects around it, give its meaning.

#include <simdjson.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "logs/log_field.h"
#include "logs/log_format.h"

namespace weir::lab {
namespace {

namespace od = simdjson::ondemand;

constexpr int kDepthMax = 4;

// Objects whose members are headers, and the beginning of names that are headers.
constexpr std::array<std::string_view, 3> kHeaderPrefixes = {"request.headers.", "RequestHeaders.",
                                                             "request_"};
constexpr std::string_view kCaddyHeaders = "request.headers";
constexpr std::string_view kWafHeaders = "httpRequest.headers";

class JsonFormat final : public LogFormat {
 public:
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
    return take_header(name, kept(value));
  }

  bool take_header(std::string_view header, std::string_view text) {
    const bool is_host = equal_ignoring_case(header, "Host") && line_->request.host.empty();
    if (is_host) return take_as({LogField::kHost}, text);
    return take_as({LogField::kHeader, std::string(header)}, text);
  }

  bool take(std::string_view text) {
    const Meaning meaning = meaning_of(path_);
    if (meaning.field != LogField::kNothing) return take_as(meaning, text);
    for (const std::string_view prefix : kHeaderPrefixes) {
      if (path_.starts_with(prefix)) return take_header(path_.substr(prefix.size()), text);
    }
    return true;
  }

  bool take_as(const Meaning& meaning, std::string_view text) {
    note_field(meaning, knows_);
    return maker_.take(meaning.field, text, kept(meaning.header)) ||
           fail("a field of it has another form");
  }

  // A copy that lives as long as the line. Its room is reserved: a line's names and texts are
  // together no longer than the line, except for names that are taken twice.
  std::string_view kept(std::string_view text) {
    std::string& decoded = line_->decoded;
    if (decoded.capacity() - decoded.size() < text.size()) return {};
    const std::size_t begin = decoded.size();
    decoded.append(text);
    return std::string_view(decoded).substr(begin);
  }

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
