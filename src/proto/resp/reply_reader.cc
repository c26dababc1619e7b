#include "proto/resp/reply_reader.h"

#include <algorithm>

#include "base/assert.h"
#include "base/decimal.h"

namespace weir::resp {
namespace {

constexpr std::string_view kTypes = "+-:$*_#,(!=%~>|";
constexpr std::size_t kLineEnd = 2;         // CR, LF
constexpr std::size_t kVerbatimPrefix = 4;  // "txt:"

ReplyType list_type(char type) {
  if (type == '%' || type == '|') return ReplyType::kMap;
  return type == '>' ? ReplyType::kPush : ReplyType::kArray;
}

}  // namespace

ReplyReader::Status ReplyReader::read(std::string_view input) {
  if (complete_) start_anew();
  while (true) {
    const Status status = read_value(input);
    if (status != Status::kReply) return status;
    if (depth_ > 0 || nodes_.empty()) continue;  // an attribute alone is no reply
    complete_ = true;
    reply_ = Reply(nodes_.front(), input.data());
    return Status::kReply;
  }
}

void ReplyReader::start_anew() {
  nodes_.clear();
  depth_ = 0;
  at_ = 0;
  searched_ = 0;
  complete_ = false;
}

// Returns kReply if a value, or the head of a list, was read.
ReplyReader::Status ReplyReader::read_value(std::string_view input) {
  if (at_ == input.size()) return Status::kNeedMore;
  const char type = input[at_];
  if (type == ':') {
    std::int64_t number = 0;
    const std::size_t end = read_usual_number(input, number);
    if (end > 0) return add({.type = ReplyType::kInteger, .number = number}, end);
  }
  if (kTypes.find(type) == std::string_view::npos) return Status::kBroken;
  const std::size_t found = input.find('\n', std::max(at_, searched_));
  searched_ = std::min(found, input.size());
  if (searched_ - at_ > kLineMax + kLineEnd) return Status::kBroken;
  if (found == std::string_view::npos) return Status::kNeedMore;
  if (found < at_ + kLineEnd || input[found - 1] != '\r') return Status::kBroken;
  const auto line = Line{.type = type, .begin = at_ + 1, .end = found - 1};
  const std::string_view rest = input.substr(line.begin, line.end - line.begin);
  switch (type) {
    case '+': return add_text(ReplyType::kStatus, line);
    case '-': return add_text(ReplyType::kError, line);
    case ',':
    case '(': return add_text(ReplyType::kText, line);
    case '_': return add({.type = ReplyType::kNull}, line.next());
    case '#': return add({.type = ReplyType::kInteger, .number = rest == "t"}, line.next());
    default: break;
  }
  const auto number = read_decimal<std::int64_t>(rest);
  if (!number) return Status::kBroken;
  if (type == ':') return add({.type = ReplyType::kInteger, .number = *number}, line.next());
  if (*number == -1) return add({.type = ReplyType::kNull}, line.next());
  if (*number < 0) return Status::kBroken;
  const auto size = static_cast<std::size_t>(*number);
  const bool is_bulk = type == '$' || type == '!' || type == '=';
  return is_bulk ? read_bulk(line, size, input) : open_list(line, size);
}

// Reads a complete number of up to 18 digits, as nearly all are. Returns where its line ends; 0: it
// is no such number.
std::size_t ReplyReader::read_usual_number(std::string_view input, std::int64_t& number) const {
  constexpr std::size_t kDigitsMax = 18;
  const std::size_t begin = at_ + 1;
  const std::size_t most = std::min(input.size(), begin + kDigitsMax);
  std::size_t at = begin;
  number = 0;
  for (; at < most && input[at] >= '0' && input[at] <= '9'; ++at) {
    number = 10 * number + (input[at] - '0');
  }
  const bool is_there =
      at > begin && input.size() - at >= kLineEnd && input[at] == '\r' && input[at + 1] == '\n';
  return is_there ? at + kLineEnd : 0;
}

ReplyReader::Status ReplyReader::add_text(ReplyType type, const Line& line) {
  return add({.type = type,
              .size = static_cast<std::uint32_t>(line.end - line.begin),
              .number = static_cast<std::int64_t>(line.begin)},
             line.next());
}

ReplyReader::Status ReplyReader::read_bulk(const Line& line, std::size_t size,
                                           std::string_view input) {
  const std::size_t begin = line.next();
  if (size > kReplyMax) return Status::kBroken;
  const std::size_t end = begin + size;
  if (end > kReplyMax) return Status::kBroken;
  if (input.size() < end + kLineEnd) return Status::kNeedMore;
  if (input.substr(end, kLineEnd) != "\r\n") return Status::kBroken;
  const std::size_t skipped = line.type == '=' ? kVerbatimPrefix : 0;
  if (size < skipped) return Status::kBroken;
  return add({.type = line.type == '!' ? ReplyType::kError : ReplyType::kText,
              .size = static_cast<std::uint32_t>(size - skipped),
              .number = static_cast<std::int64_t>(begin + skipped)},
             end + kLineEnd);
}

ReplyReader::Status ReplyReader::open_list(const Line& line, std::size_t size) {
  if (size > kNodesMax) return Status::kBroken;
  if (line.type == '>' && depth_ > 0) return Status::kBroken;  // never within a reply
  const bool is_map = line.type == '%' || line.type == '|';
  const auto elements = static_cast<std::uint32_t>(is_map ? 2 * size : size);
  const auto node = ReplyNode{.type = list_type(line.type), .size = elements};
  // An attribute is no element of its list, and is dropped when it is complete.
  if (elements == 0 && line.type == '|') {
    at_ = line.next();
    return at_ > kReplyMax ? Status::kBroken : Status::kReply;
  }
  if (elements == 0) return add(node, line.next());
  if (depth_ == kDepthMax || nodes_.size() == kNodesMax) return Status::kBroken;
  open_[depth_++] = {.node = static_cast<std::uint32_t>(nodes_.size()),
                     .left = elements,
                     .is_attribute = line.type == '|'};
  nodes_.push_back(node);
  at_ = line.next();
  return at_ > kReplyMax ? Status::kBroken : Status::kReply;
}

// Adds a value that has none within it, and ends at `end`.
ReplyReader::Status ReplyReader::add(const ReplyNode& node, std::size_t end) {
  at_ = end;
  if (nodes_.size() == kNodesMax || at_ > kReplyMax + kLineEnd) return Status::kBroken;
  nodes_.push_back(node);
  count_element();
  return Status::kReply;
}

// The open list has one element more. If that was its last, the list is an element itself.
void ReplyReader::count_element() {
  while (depth_ > 0) {
    OpenList& list = open_[depth_ - 1];
    WEIR_ASSERT(list.left > 0);
    if (--list.left > 0) return;
    --depth_;
    if (list.is_attribute) return nodes_.resize(list.node);
    nodes_[list.node].nodes = static_cast<std::uint32_t>(nodes_.size()) - list.node;
  }
}

}  // namespace weir::resp
