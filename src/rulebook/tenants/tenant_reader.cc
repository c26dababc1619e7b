#include "rulebook/tenants/tenant_reader.h"

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "base/decimal.h"
#include "base/duration_text.h"
#include "base/nearest_name.h"
#include "proto/repeated_name.h"

namespace weir {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 5> kNames = {"key", "plan", "limit", "window", "anchor"};
constexpr std::uint64_t kLinesMax = UINT32_MAX;

std::string in_quotes(std::string_view text) { return "'" + std::string(shown_name(text)) + "'"; }

// RFC 4180, of one line. Nothing: its quotes are wrong.
std::optional<std::vector<std::string>> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == ',') {
      fields.emplace_back();
    } else if (line[at] != '"') {
      fields.back() += line[at];
    } else {
      if (!fields.back().empty()) return std::nullopt;
      for (++at;; ++at) {
        if (at >= line.size()) return std::nullopt;
        if (line[at] != '"') {
          fields.back() += line[at];
        } else if (line.substr(at + 1).starts_with('"')) {
          fields.back() += line[++at];
        } else {
          break;
        }
      }
      if (at + 1 < line.size() && line[at + 1] != ',') return std::nullopt;
    }
  }
  return fields;
}

}  // namespace

// As they were written; empty: left out.
struct TenantReader::Fields {
  std::string_view key;
  std::string_view plan;
  std::string_view limit;
  std::string_view window;
  std::string_view anchor;

  std::string_view& operator[](std::size_t name) {
    return *std::array{&key, &plan, &limit, &window, &anchor}[name];
  }
};

TenantReader::TenantReader(TenantTablePtr table, std::vector<std::string> plans)
    : table_(std::move(table)), plans_(std::move(plans)) {}

void TenantReader::refuse(std::uint64_t line, const std::string& why) {
  if (wrong_++ >= kMistakesShown) return;
  mistakes_ += (line == 0 ? "" : "line " + std::to_string(line) + ": ") + why + "\n";
}

std::string TenantReader::mistakes() const {
  if (wrong_ <= kMistakesShown) return mistakes_;
  const bool is_exact = is_whole_ && form_ != Form::kNone;
  return mistakes_ + (is_exact ? "and " : "and at least ") +
         std::to_string(wrong_ - kMistakesShown) + " more\n";
}

void TenantReader::read(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (++line_ > kLinesMax) return refuse(line_, "too many lines");
    read_line(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
  }
}

void TenantReader::read_line(std::string_view line) {
  if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  const std::string_view text = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  if (text.empty() || form_ == Form::kNone) return;
  if (form_ == Form::kUnknown && text.front() == '[') {
    form_ = Form::kNone;
    return refuse(line_, "expected a JSON object a line, or CSV; leave out the array around them");
  }
  if (form_ == Form::kUnknown) form_ = text.front() == '{' ? Form::kJson : Form::kCsv;
  if (line.find('\0') != line.npos) return refuse(line_, "it holds a NUL");
  form_ == Form::kJson ? read_json(line, {}) : read_csv(line);
}

void TenantReader::read_csv(std::string_view line) {
  const auto fields = csv_fields(line);
  if (!fields && std::ranges::count(line, '"') % 2 == 1) {
    return refuse(line_,
                  "its quotes do not end; a key with a line break needs lines of JSON, not CSV");
  }
  if (!fields) return refuse(line_, "its quotes are wrong: \"a \"\"b\"\"\" is a \"b\"");
  if (columns_.empty()) return read_columns(*fields);
  if (fields->size() != columns_.size()) {
    return refuse(line_, "it has " + std::to_string(fields->size()) +
                             " fields; the first line has " + std::to_string(columns_.size()));
  }
  Fields row;
  for (std::size_t i = 0; i < fields->size(); ++i) {
    const auto name = std::ranges::find(kNames, columns_[i]);
    row[static_cast<std::size_t>(name - kNames.begin())] = (*fields)[i];
  }
  add(row);
}

void TenantReader::read_columns(const std::vector<std::string>& names) {
  columns_ = names;
  for (const std::string& name : names) {
    if (std::ranges::find(kNames, name) == kNames.end()) {
      refuse(line_,
             "unknown column " + in_quotes(name) + "; " + name_hint(shown_name(name), kNames));
    } else if (std::ranges::count(names, name) > 1) {
      refuse(line_, "two columns are called " + in_quotes(name));
    }
  }
  if (std::ranges::count(names, "key") == 0) refuse(line_, "no column is called 'key'");
  if (wrong_ > 0) form_ = Form::kNone;  // nobody can tell what the rows are
}

void TenantReader::read_one(std::string_view key, std::string_view json) {
  rows_.clear();
  if (json.find('\0') != json.npos) return refuse(0, "it holds a NUL");
  read_json(json, key);
}

// `key`: what the object says of it is the caller's to read; empty: it is that of the object.
void TenantReader::read_json(std::string_view line, std::string_view key) {
  boost::system::error_code error;
  const json::value value = json::parse({line.data(), line.size()}, error);
  if (error || !value.is_object()) return refuse(line_, "expected a JSON object");
  if (const auto name = repeated_name(line))
    return refuse(line_, in_quotes(*name) + " is there twice");
  std::array<std::string, kNames.size()> texts;
  texts[0] = key;
  const auto known = std::span(kNames).subspan(key.empty() ? 0 : 1);
  for (const auto& [name, field] : value.get_object()) {
    if (!key.empty() && (name == "key" || name == "version")) continue;
    const auto found = std::ranges::find(kNames, std::string_view(name));
    if (std::ranges::find(known, std::string_view(name)) == known.end()) {
      return refuse(line_,
                    "unknown field " + in_quotes(name) + "; " + name_hint(shown_name(name), known));
    }
    const bool is_limit = *found == "limit" || *found == "anchor";
    const bool is_window = *found == "window" && field.is_number();
    if (field.is_null()) continue;
    if (is_limit ? !field.is_int64() : !field.is_string() && !is_window) {
      return refuse(line_,
                    std::string(*found) + ": expected " +
                        (*found == "anchor"   ? "a day from 1 to 31"
                         : is_limit           ? "a whole number from 0 to 10^12"
                         : *found == "window" ? "a duration such as 1m, or a number of seconds"
                                              : "a text"));
    }
    auto& text = texts[static_cast<std::size_t>(found - kNames.begin())];
    const auto seconds =
        is_window ? duration_from_seconds(field.to_number<double>()) : std::nullopt;
    text = seconds     ? format_duration(*seconds)
           : is_window ? "-"  // no duration
           : is_limit  ? json::serialize(field)
                       : std::string(field.get_string());
    if (text.find('\0') != text.npos)
      return refuse(line_, std::string(*found) + ": it holds a NUL");
  }
  add({texts[0], texts[1], texts[2], texts[3], texts[4]});
}

void TenantReader::add(const Fields& fields) {
  TenantTable::Row row;
  std::string wrong = wrong_with(fields, row);
  if (wrong.empty() && rows_.size() == TenantTable::kRowsMax) {
    wrong = "more than " + std::to_string(TenantTable::kRowsMax) + " rows";
  }
  if (!wrong.empty()) return refuse(line_, wrong);
  row.key = table_->hash(fields.key);
  rows_.push_back({row, static_cast<std::uint32_t>(line_)});
}

std::string TenantReader::wrong_with(const Fields& fields, TenantTable::Row& row) const {
  if (fields.key.empty() || fields.key.size() > TenantTable::kKeyMax) {
    return "key: expected 1 to " + std::to_string(TenantTable::kKeyMax) + " bytes";
  }
  if (fields.key.find('\0') != std::string_view::npos) return "key: it has a NUL";
  if (fields.plan.empty() == fields.limit.empty()) {
    return fields.plan.empty() ? "expected a plan, or a limit"
                               : "expected a plan or a limit, not both";
  }
  const auto anchor = read_decimal<std::int64_t>(fields.anchor.empty() ? "0" : fields.anchor);
  const bool is_day =
      anchor >= (fields.anchor.empty() ? 0 : 1) && anchor <= TenantTable::kAnchorMax;
  if (!is_day) return "anchor: expected the day on which months begin, from 1 to 31";
  row.set_anchor(*anchor);
  if (!fields.plan.empty()) {
    if (!fields.window.empty()) return "window: only a limit has one; a plan's are in the rules";
    const auto found = std::ranges::find(plans_, fields.plan);
    row.set_window_or_plan(found - plans_.begin());
    if (fields.plan.size() > kPlanNameMax) {
      return "plan: expected a name of at most " + std::to_string(kPlanNameMax) + " bytes";
    }
    if (found != plans_.end()) return {};
    const std::vector<std::string_view> names(plans_.begin(), plans_.end());
    return "plan: no rule with 'tenants: true' has a tier " + in_quotes(fields.plan) +
           (names.empty() ? "" : "; " + name_hint(shown_name(fields.plan), names));
  }
  row.limit = read_decimal<std::int64_t>(fields.limit).value_or(-1);
  if (row.limit < 0 || row.limit > kLimitMax) {
    return "limit: expected a whole number from 0 to 10^12";
  }
  if (fields.window.empty()) return {};
  if (!fields.anchor.empty()) return "anchor: only months have one; leave out the window";
  const auto window = parse_duration(fields.window).value_or(Duration{0});
  if (window < kWindowMin || window > kWindowMax) {
    return "window: expected a duration from 1ms to 366d, such as 1m";
  }
  row.set_window_or_plan(window.count());
  return {};
}

void TenantReader::finish() {
  is_whole_ = true;
  // A client that misspells the name of a file sends nothing, and means something else.
  if (form_ == Form::kUnknown) {
    refuse(0, "it is empty, and " + std::string(kHowToClear));
  }
  std::ranges::sort(rows_, [](const Line& one, const Line& other) {
    return one.row.key == other.row.key ? one.number < other.number : one.row.key < other.row.key;
  });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> twice;
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    if (rows_[i].row.key == rows_[i - 1].row.key) {
      twice.emplace_back(rows_[i].number, rows_[i - 1].number);
    }
  }
  std::ranges::sort(twice);
  for (const auto& [line, first] : twice) {
    refuse(line, "the key of line " + std::to_string(first) + " once more");
  }
}

TenantTable::Edits TenantReader::take() {
  TenantTable::Edits edits{.plans = plans_};
  edits.rows.reserve(rows_.size());
  for (const Line& line : rows_) edits.rows.push_back(line.row);
  std::vector<Line>().swap(rows_);
  return edits;
}

}  // namespace weir
