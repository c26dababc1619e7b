// ReplyReader: finds Redis's replies in the bytes that have arrived, in RESP2 or RESP3.
//
// A reply becomes a flat array of nodes that point into the input. There is no recursion, and no
// allocation once the array is as large as the largest reply. A reply in many pieces is not read
// from its beginning for each piece. The reader's answer depends only on the bytes, never on how
// they were cut.
//
// Attributes (RESP3's remarks on a reply) are read and dropped. Streamed strings and lists are
// refused; no Redis sends them.
//
// Thread rule: one reader a connection. Tested by reply_reader_test.cc and
// fuzz/reply_reader_fuzz.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/resp/reply.h"

namespace weir::resp {

class ReplyReader {
 public:
  // Far beyond the replies that Weir needs: the slots of a cluster of a thousand nodes are some 300
  // KiB and 30,000 values.
  static constexpr std::size_t kReplyMax = std::size_t{1} << 20;  // bytes
  static constexpr std::size_t kNodesMax = std::size_t{1} << 16;
  static constexpr std::size_t kDepthMax = 8;
  static constexpr std::size_t kLineMax = std::size_t{16} << 10;  // bytes, without its end

  enum class Status : std::uint8_t {
    kNeedMore,  // the bytes are the beginning of a reply
    kReply,
    kBroken,  // no Redis speaks like this, or it is too long: close the connection
  };

  // Reads the reply at the front of `input`, which has all bytes that arrived and were not
  // consumed. After kReply, consume size() bytes before the next call. reply() is valid as long as
  // these bytes, and until the next call.
  Status read(std::string_view input);

  const Reply& reply() const { return reply_; }
  std::size_t size() const { return at_; }

 private:
  struct OpenList {
    std::uint32_t node;  // its index
    std::uint32_t left;  // elements still to come
    bool is_attribute;
  };

  // Where a value's line is in the input, without its type and its end.
  struct Line {
    char type;
    std::size_t begin;
    std::size_t end;
    std::size_t next() const { return end + 2; }
  };

  Status read_value(std::string_view input);
  std::size_t read_usual_number(std::string_view input, std::int64_t& number) const;
  Status add_text(ReplyType type, const Line& line);
  Status read_bulk(const Line& line, std::size_t size, std::string_view input);
  Status open_list(const Line& line, std::size_t size);
  Status add(const ReplyNode& node, std::size_t end);
  void count_element();
  void start_anew();

  std::vector<ReplyNode> nodes_;
  std::array<OpenList, kDepthMax> open_{};
  std::size_t depth_ = 0;
  std::size_t at_ = 0;        // where the next value begins
  std::size_t searched_ = 0;  // the line of that value does not end before here
  bool complete_ = true;
  Reply reply_;
};

}  // namespace weir::resp
