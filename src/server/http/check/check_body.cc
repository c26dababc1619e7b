#include "server/http/check/check_body.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/byte_search.h"
#include "base/nearest_name.h"
#include "proto/input_buffer.h"
#include "server/http/check/check_value.h"
#include "weir/store.h"

namespace weir {
namespace {

namespace od = simdjson::ondemand;
using simdjson::error_code;

static_assert(InputBuffer::kPadding >= simdjson::SIMDJSON_PADDING);

// Bodies up to this size are read without allocating.
constexpr std::size_t kUsualBodyMax = 16 << 10;

// The right values of each field, in the order of CheckField.
constexpr std::array<std::string_view, kCheckFieldNames.size()> kExpected = {
    "a string of 1 to 4096 bytes",
    "an integer from 0 to 1000000000000",
    "a number of seconds, or a text like \"1m\" or \"500ms\"",
    "a string of up to 4096 bytes",
    "an integer from -1000000000000 to 1000000000000",
    "an integer from 1 to 1000000000000",
    "one of fixed_window, sliding_log, sliding_window, token_bucket, exponential_backoff, "
    "adaptive",
    "the id of a rule",
    "a string of up to 4096 bytes",
    "one of local, async, leased, strict",
    "one of fits, always, drain, reset",
};
constexpr std::string_view kEstimateExpected = "an integer from 1 to 1000000000000";
constexpr std::string_view kChecksExpected = "an array of 1 to 256 checks";
static_assert(kLimitMax == 1'000'000'000'000 && kCostMax == kLimitMax && kKeyMax == 4096);

constexpr std::uint16_t bit(CheckField field) {
  return static_cast<std::uint16_t>(1U << static_cast<unsigned>(field));
}

// False if it was there before.
bool mark(CheckField field, CheckFields& fields) {
  const bool is_new = !fields.has(field);
  fields.present = static_cast<std::uint16_t>(fields.present | bit(field));
  return is_new;
}

// The check's field whose name stands at `raw`, behind the opening quote, without escapes.
// Unrolled, so that each comparison is with constants, and none needs to know where the name ends:
// a few instructions instead of a loop and calls. The padding behind the text is longer than any
// name.
template <std::size_t... Index>
std::optional<CheckField> field_at(const char* raw, std::index_sequence<Index...>) {
  const auto is_at = [raw](std::string_view name) {
    return std::memcmp(raw, name.data(), name.size()) == 0 && raw[name.size()] == '"';
  };
  std::optional<CheckField> field;
  (void)((is_at(kCheckFieldNames[Index]) && (field = static_cast<CheckField>(Index), true)) || ...);
  return field;
}

std::optional<CheckField> field_at(const char* raw) {
  return field_at(raw, std::make_index_sequence<kCheckFieldNames.size()>());
}

std::optional<std::size_t> find_name(std::string_view name,
                                     std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string syntax_detail(error_code error) {
  switch (error) {
    case simdjson::EMPTY: return "The body is empty; expected a JSON object.";
    case simdjson::INCORRECT_TYPE: return "The body is not a JSON object.";
    case simdjson::UTF8_ERROR: return "The body is not valid UTF-8.";
    case simdjson::UNCLOSED_STRING: return "A string has no closing quote.";
    case simdjson::UNESCAPED_CHARS: return "A string has a control character that is not escaped.";
    case simdjson::TRAILING_CONTENT: return "Something follows the JSON object.";
    default: return "The body is not valid JSON.";
  }
}

// A string's token reaches up to the next token; this is the string itself.
std::string_view without_trailing_space(std::string_view token) {
  const auto last = token.find_last_not_of(" \t\r\n");
  return token.substr(0, last + 1);
}

Value value_of(od::value value) {
  od::json_type type;
  if (value.type().get(type)) return {};
  if (type == od::json_type::string) {
    const std::string_view json = without_trailing_space(value.raw_json_token());
    std::string_view text;
    if (value.get_string().get(text)) return {};
    return {.kind = Value::Kind::kText, .text = text, .json = json};
  }
  od::number number;
  if (type != od::json_type::number || value.get_number().get(number)) return {};
  if (number.is_int64()) return {.kind = Value::Kind::kInteger, .integer = number.get_int64()};
  return {.kind = Value::Kind::kFraction, .fraction = number.as_double()};
}

// Reads a value without escapes, signs and fractions. Returns where it ends, or nullptr.
const char* read_plain(const char* at, const char* end, Value& value) {
  constexpr std::ptrdiff_t kDigitsMax = 15;
  if (at >= end) return nullptr;
  if (*at == '"') {
    const char* const quote = find_byte(at + 1, end, [](ByteGroup bytes) {
      return (bytes < ' ') | (bytes == '"') | (bytes == '\\') | (bytes >= 0x80);
    });
    if (quote == end || *quote != '"') return nullptr;
    value.kind = Value::Kind::kText;
    value.text = {at + 1, quote};
    value.json = {at, quote + 1};
    return quote + 1;
  }
  const char* const first = at;
  std::int64_t number = 0;
  for (; *at >= '0' && *at <= '9' && at - first < kDigitsMax; ++at)
    number = 10 * number + (*at - '0');
  value.kind = Value::Kind::kInteger;
  value.text = {};
  value.integer = number;
  const bool is_number = at != first && (*first != '0' || at == first + 1);
  return is_number ? at : nullptr;
}

// Reads one check as programs write it, with at most a blank between two tokens. False only means
// that simdjson has to read it.
// REQUIRES: 64 bytes behind the end may be read
bool read_plain_check(const char* at, const char* end, CheckFields& fields) {
  const auto take = [&at](char c) {
    at += *at == ' ';
    const bool is_there = *at == c;
    at += is_there;
    return is_there;
  };
  fields = {};
  if (*at != '{') return false;
  ++at;
  Value value;
  do {
    if (at >= end || !take('"')) return false;
    const auto field = field_at(at);
    if (!field || !mark(*field, fields)) return false;
    at += kCheckFieldNames[static_cast<std::size_t>(*field)].size() + 1;
    if (!take(':')) return false;
    at = read_plain(at + (*at == ' '), end, value);
    if (at == nullptr || !set_field(*field, value, fields)) return false;
  } while (take(','));
  return take('}') && at == end;
}

}  // namespace

struct CheckReader::Parser {
  od::parser parser;
};

// Reading one body. Every step returns whether to go on; if not, problem_ is set.
class CheckReader::Pass {
 public:
  Pass(CheckReader& reader, CheckForm form)
      : reader_(reader),
        parser_(reader.parser_->parser),
        checks_(*reader.checks_),
        body_(reader.body_),
        problem_(reader.problem_),
        form_(form) {}

  // Fails for any body that is not plain, right or wrong.
  bool read_plain(const RequestBody& source);
  bool read_as_kept(const Kept& kept, std::string_view source);
  bool read(const RequestBody& source);
  bool read_reserve(const RequestBody& source, std::string_view& hold);

 private:
  struct Field {
    std::optional<CheckField> of_check{};
    std::string_view name{};  // the name, if no check has such a field
    od::value value{};
  };

  bool read_object(od::object object);
  bool read_check(od::object object, CheckFields& fields);
  bool read_list_field(std::size_t field, od::value value);
  bool read_checks(od::value value);
  bool read_field(CheckField field, od::value value, CheckFields& fields);

  bool next_field(simdjson::simdjson_result<od::field> result, Field& field);
  bool require_all(const CheckFields& fields);
  bool require(CheckField field, const CheckFields& fields);
  bool forbid(CheckField field, const CheckFields& fields);
  bool check_list();

  bool fail(std::string_view name, std::string_view expected);
  bool fail(CheckField field, std::string_view expected) {
    return fail(kCheckFieldNames[static_cast<std::size_t>(field)], expected);
  }
  bool fail(CheckField field) {
    const bool is_estimate = is_reserve_ && field == CheckField::kCost;
    return fail(field,
                is_estimate ? kEstimateExpected : kExpected[static_cast<std::size_t>(field)]);
  }
  bool fail_missing(std::string_view name, std::string_view expected) {
    return fail(name, std::string(expected).append(", but the field is missing"));
  }
  bool fail_unknown(std::string_view name);
  std::string place_of(std::string_view name) const;
  bool fail_syntax(error_code error);

  CheckReader& reader_;
  od::parser& parser_;
  std::array<CheckFields, kChecksMax>& checks_;
  CheckBody& body_;
  Problem& problem_;
  CheckForm form_;
  bool is_single_ = false;  // a field of a check came at the outermost level
  bool has_atomic_ = false;
  std::optional<std::size_t> item_;  // of "checks"; nullopt outside
  std::string_view hold_;            // empty: none yet
  bool is_reserve_ = false;
};

bool CheckReader::Pass::read_plain(const RequestBody& source) {
  constexpr std::size_t kKeptMax = 1024;
  constexpr unsigned kOthersMax = 8;  // as copying one costs as much as reading it
  body_.checks = {checks_.data(), 1};
  for (const Kept& kept : reader_.kept_) {
    if (read_as_kept(kept, {source.text, source.size})) return true;
  }
  const bool is_right = read_plain_check(source.text, source.text + source.size, checks_[0]) &&
                        require_all(checks_[0]);
  if (!is_right || source.size > kKeptMax || ++reader_.others_ % kOthersMax != 0) return is_right;
  auto& [body, fields] = reader_.kept_[(reader_.others_ / kOthersMax + 1) % reader_.kept_.size()];
  body.assign(source.text, source.size).append(InputBuffer::kPadding, ' ');
  read_plain_check(body.data(), body.data() + source.size, fields);
  body.resize(source.size);
  return true;
}

// True if the body differs from the kept one by the key alone.
bool CheckReader::Pass::read_as_kept(const Kept& known, std::string_view source) {
  const std::string_view kept = known.body;
  const std::string_view key = known.fields.key;
  if (kept.empty()) return false;
  const auto before = static_cast<std::size_t>(key.data() - kept.data());
  const std::string_view behind = kept.substr(before + key.size());
  const bool is_alike = source.size() >= before + behind.size() && source.ends_with(behind) &&
                        source.starts_with(kept.substr(0, before));
  Value value;
  if (!is_alike || weir::read_plain(source.data() + before - 1, source.data() + source.size(),
                                    value) != source.data() + source.size() - behind.size() + 1) {
    return false;
  }
  checks_[0] = known.fields;
  return set_field(CheckField::kKey, value, checks_[0]);
}

bool CheckReader::Pass::read(const RequestBody& source) {
  od::document document;
  od::object object;
  const auto padded = simdjson::padded_string_view(source.text, source.size, source.readable);
  if (auto error = parser_.iterate(padded).get(document)) return fail_syntax(error);
  if (auto error = document.get_object().get(object)) return fail_syntax(error);
  if (!read_object(object)) return false;
  // The text that was read is right; nothing may follow it.
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return fail_syntax(simdjson::TRAILING_CONTENT);
  }
  if (body_.is_list) return check_list();
  body_.checks = {checks_.data(), 1};
  return require_all(checks_[0]);
}

// `charge` is refused, as a commit charges. `mode` is refused next to a rule, which has its own.
bool CheckReader::Pass::read_reserve(const RequestBody& source, std::string_view& hold) {
  is_reserve_ = true;
  if (!read(source)) return false;
  const CheckFields& fields = checks_[0];
  if (fields.has(CheckField::kCharge)) {
    return fail(CheckField::kCharge, "nothing: a commit charges");
  }
  if (fields.has(CheckField::kRule) && !forbid(CheckField::kMode, fields)) return false;
  if (!fields.has(CheckField::kCost)) return fail_missing("cost", kEstimateExpected);
  if (fields.cost < 1) return fail(CheckField::kCost);
  if (hold_.empty()) return fail_missing("hold", kHoldExpected);
  hold = hold_;
  return true;
}

// The outermost object: a check, or a list of them.
bool CheckReader::Pass::read_object(od::object object) {
  CheckFields& fields = checks_[0];
  fields = {};
  for (auto result : object) {
    Field field;
    if (!next_field(std::move(result), field)) return false;
    if (field.of_check) {
      if (body_.is_list || has_atomic_) {
        return fail(*field.of_check, "nothing: with \"checks\" it is in each");
      }
      is_single_ = true;
      if (!read_field(*field.of_check, field.value, fields)) return false;
      continue;
    }
    if (form_ == CheckForm::kReserve && field.name == "hold") {
      if (!hold_.empty()) return fail("hold", "the field only once");
      if (!set_text(value_of(field.value), 1, hold_)) return fail("hold", kHoldExpected);
      continue;
    }
    const auto list_field = find_name(field.name, kCheckListFieldNames);
    if (!list_field || form_ != CheckForm::kSingleOrList) return fail_unknown(field.name);
    if (is_single_) return fail(field.name, "nothing: the body is a single check");
    if (!read_list_field(*list_field, field.value)) return false;
  }
  return true;
}

bool CheckReader::Pass::next_field(simdjson::simdjson_result<od::field> result, Field& field) {
  od::field read;
  if (auto error = std::move(result).get(read)) return fail_syntax(error);
  field.of_check = field_at(read.key().raw());
  if (!field.of_check) {
    if (auto error = read.unescaped_key().get(field.name)) return fail_syntax(error);
    const auto place = find_name(field.name, kCheckFieldNames);
    if (place) field.of_check = static_cast<CheckField>(*place);
  }
  field.value = std::move(read).value();
  return true;
}

bool CheckReader::Pass::read_list_field(std::size_t field, od::value value) {
  const std::string_view name = kCheckListFieldNames[field];
  if (name == "checks") {
    if (body_.is_list) return fail(name, "the field only once");
    body_.is_list = true;
    return read_checks(value);
  }
  if (has_atomic_) return fail(name, "the field only once");
  has_atomic_ = true;
  if (value.get_bool().get(body_.atomic)) return fail(name, "true or false");
  return true;
}

bool CheckReader::Pass::read_checks(od::value value) {
  od::array checks;
  if (value.get_array().get(checks)) return fail("checks", kChecksExpected);
  std::size_t count = 0;
  for (auto result : checks) {
    if (count == kChecksMax) {
      item_.reset();  // the list is wrong, none of its items
      return fail("checks", kChecksExpected);
    }
    od::value item;
    od::object object;
    if (auto error = result.get(item)) return fail_syntax(error);
    item_ = count;
    if (item.get_object().get(object)) return fail("", "an object: one check");
    if (!read_check(object, checks_[count]) || !require_all(checks_[count])) return false;
    ++count;
  }
  item_.reset();
  body_.checks = {checks_.data(), count};
  return count > 0 || fail("checks", kChecksExpected);
}

bool CheckReader::Pass::read_check(od::object object, CheckFields& fields) {
  fields = {};
  for (auto result : object) {
    Field field;
    if (!next_field(std::move(result), field)) return false;
    if (!field.of_check) return fail_unknown(field.name);
    if (!read_field(*field.of_check, field.value, fields)) return false;
  }
  return true;
}

bool CheckReader::Pass::read_field(CheckField field, od::value value, CheckFields& fields) {
  if (!mark(field, fields)) return fail(field, "the field only once");
  return set_field(field, value_of(value), fields) || fail(field);
}

// A check has a quota or a rule, not both.
bool CheckReader::Pass::require_all(const CheckFields& fields) {
  constexpr unsigned kLeast =
      bit(CheckField::kKey) | bit(CheckField::kLimit) | bit(CheckField::kWindow);
  constexpr unsigned kOfRules = bit(CheckField::kRule) | bit(CheckField::kTier);
  if ((fields.present & (kLeast | kOfRules)) == kLeast) return true;
  if (!require(CheckField::kKey, fields)) return false;
  if (fields.has(CheckField::kRule)) {
    return forbid(CheckField::kLimit, fields) && forbid(CheckField::kWindow, fields) &&
           forbid(CheckField::kBurst, fields) && forbid(CheckField::kAlgorithm, fields);
  }
  if (fields.has(CheckField::kTier)) return fail(CheckField::kTier, "nothing: tiers are a rule's");
  return require(CheckField::kLimit, fields) && require(CheckField::kWindow, fields);
}

bool CheckReader::Pass::require(CheckField field, const CheckFields& fields) {
  const auto place = static_cast<std::size_t>(field);
  return fields.has(field) || fail_missing(kCheckFieldNames[place], kExpected[place]);
}

bool CheckReader::Pass::forbid(CheckField field, const CheckFields& fields) {
  return !fields.has(field) || fail(field, "nothing: it comes from the rule");
}

bool CheckReader::Pass::check_list() {
  if (body_.atomic && body_.checks.size() > Batch::kChargesMax) {
    return fail("checks", "at most 16 checks when they are atomic");
  }
  return true;
}

bool CheckReader::Pass::fail(std::string_view name, std::string_view expected) {
  problem_ = invalid_field(place_of(name), expected);
  return false;
}

// "checks[3].limit"
std::string CheckReader::Pass::place_of(std::string_view name) const {
  std::string field;
  if (item_) field = "checks[" + std::to_string(*item_) + "]";
  if (item_ && !name.empty()) field += '.';
  return field.append(name);
}

bool CheckReader::Pass::fail_unknown(std::string_view name) {
  std::array<std::string_view, kCheckFieldNames.size() + kCheckListFieldNames.size()> known;
  const auto end = std::copy(kCheckFieldNames.begin(), kCheckFieldNames.end(), known.begin());
  std::copy(kCheckListFieldNames.begin(), kCheckListFieldNames.end(), end);
  const bool list_allowed = form_ == CheckForm::kSingleOrList && !item_;
  if (form_ == CheckForm::kReserve) known[kCheckFieldNames.size()] = "hold";
  const std::span<const std::string_view> candidates(
      known.data(),
      list_allowed ? known.size() : kCheckFieldNames.size() + (form_ == CheckForm::kReserve));

  problem_ = unknown_field(place_of(shown_name(name)), name, candidates);
  return false;
}

bool CheckReader::Pass::fail_syntax(error_code error) {
  problem_ = {.kind = ProblemKind::kMalformedJson, .status = 400, .detail = syntax_detail(error)};
  return false;
}

CheckReader::CheckReader()
    : parser_(std::make_unique<Parser>()),
      checks_(std::make_unique<std::array<CheckFields, kChecksMax>>()) {
  // Else the first large body would do this; a failure shows there.
  (void)!parser_->parser.allocate(kUsualBodyMax);
}

CheckReader::~CheckReader() = default;

namespace {

// To simdjson, the first byte behind the end is one more token, by which it notices a text that
// stops too early. The beginning of the next request, a bracket perhaps, must not stand there.
template <typename Read>
bool read_apart(const RequestBody& source, Read read) {
  char& behind = source.text[source.size];
  const char kept = std::exchange(behind, ' ');
  const bool ok = read();
  behind = kept;
  return ok;
}

}  // namespace

bool CheckReader::read(const RequestBody& source, CheckForm form) {
  body_ = {};
  return read_apart(source, [&] {
    Pass pass(*this, form);
    return pass.read_plain(source) || pass.read(source);
  });
}

bool CheckReader::read_reserve(const RequestBody& source, std::string_view& hold) {
  body_ = {};
  return read_apart(source,
                    [&] { return Pass(*this, CheckForm::kReserve).read_reserve(source, hold); });
}

}  // namespace weir
