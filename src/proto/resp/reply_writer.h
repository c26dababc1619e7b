// ReplyWriter: appends values in RESP2 or RESP3 to the bytes that wait to be written.
//
//   ReplyWriter reply(out, Protocol::kResp3);
//   reply.map(1);
//   reply.bulk("proto");
//   reply.integer(3);           ->  %1\r\n$5\r\nproto\r\n:3\r\n
//
// A value that RESP2 does not have takes the form that Redis gives it there. A map is an array of
// keys and values, a verbatim text is a bulk string, null is the null bulk string.
//
// It does not count: the caller that opens an array or a map writes its elements.
//
// Thread rule: a value; the buffer outlives it. Tested by reply_writer_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proto/output_buffer.h"

namespace weir::resp {

enum class Protocol : std::uint8_t { kResp2 = 2, kResp3 = 3 };

class ReplyWriter {
 public:
  ReplyWriter(OutputBuffer& out, Protocol protocol) : out_(out), protocol_(protocol) {}

  void status(std::string_view text) { line('+', text); }
  // `text` begins with its code: "ERR no such thing". It may repeat a peer's text: a character that
  // would end the line becomes a space.
  void error(std::string_view text);
  void integer(std::int64_t number) { number_line(':', number); }
  void bulk(std::string_view text);
  void verbatim(std::string_view text);
  void null();
  void array(std::size_t elements) { number_line('*', static_cast<std::int64_t>(elements)); }
  void set(std::size_t elements);
  void map(std::size_t pairs);

  // An array of integers, written in one piece.
  void integers(std::span<const std::int64_t> numbers);

 private:
  void line(char type, std::string_view text);
  void number_line(char type, std::int64_t number);

  OutputBuffer& out_;
  Protocol protocol_;
};

}  // namespace weir::resp
