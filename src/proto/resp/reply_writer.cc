#include "proto/resp/reply_writer.h"

#include <algorithm>

#include "proto/text_writer.h"

namespace weir::resp {
namespace {

constexpr std::size_t kNumberLineMax = 1 + kNumberTextMax + 2;  // type, number, CR LF

}  // namespace

void ReplyWriter::line(char type, std::string_view text) {
  const std::size_t room = 1 + text.size() + 2;
  TextWriter writer(out_.reserve(room), room);
  writer.character(type).text(text).put("\r\n");
  out_.commit(writer.end());
}

void ReplyWriter::error(std::string_view text) {
  const std::size_t room = 1 + text.size() + 2;
  char* const begin = out_.reserve(room);
  TextWriter writer(begin, room);
  writer.character('-').text(text);
  std::replace_if(
      begin, writer.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  writer.put("\r\n");
  out_.commit(writer.end());
}

void ReplyWriter::number_line(char type, std::int64_t number) {
  TextWriter writer(out_.reserve(kNumberLineMax), kNumberLineMax);
  writer.character(type).number(number).put("\r\n");
  out_.commit(writer.end());
}

void ReplyWriter::bulk(std::string_view text) {
  const std::size_t room = kNumberLineMax + text.size() + 2;
  TextWriter writer(out_.reserve(room), room);
  writer.character('$').number(text.size()).put("\r\n").text(text).put("\r\n");
  out_.commit(writer.end());
}

void ReplyWriter::verbatim(std::string_view text) {
  if (protocol_ == Protocol::kResp2) return bulk(text);
  const std::size_t room = kNumberLineMax + 4 + text.size() + 2;
  TextWriter writer(out_.reserve(room), room);
  writer.character('=').number(text.size() + 4).put("\r\ntxt:").text(text).put("\r\n");
  out_.commit(writer.end());
}

void ReplyWriter::null() {
  if (protocol_ == Protocol::kResp2) {
    out_.append("$-1\r\n");
  } else {
    out_.append("_\r\n");
  }
}

void ReplyWriter::set(std::size_t elements) {
  number_line(protocol_ == Protocol::kResp2 ? '*' : '~', static_cast<std::int64_t>(elements));
}

void ReplyWriter::map(std::size_t pairs) {
  if (protocol_ == Protocol::kResp2) return array(2 * pairs);
  number_line('%', static_cast<std::int64_t>(pairs));
}

void ReplyWriter::integers(std::span<const std::int64_t> numbers) {
  const std::size_t room = kNumberLineMax * (1 + numbers.size());
  TextWriter writer(out_.reserve(room), room);
  writer.character('*').number(numbers.size()).put("\r\n");
  for (const std::int64_t number : numbers) writer.character(':').number(number).put("\r\n");
  out_.commit(writer.end());
}

}  // namespace weir::resp
