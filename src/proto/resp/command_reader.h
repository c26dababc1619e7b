// CommandReader: finds the commands in the bytes of a Redis client.
//
//   *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n      an array of bulk strings, as clients send it
//   ECHO "hi"\r\n                         an inline command, as people type it
//
// Arguments view the input; escapes of an inline command are undone in place. A command in many
// pieces is not read from its beginning for each piece: the reader remembers how far it came. Its
// answer depends only on the bytes, never on how they were cut.
//
// Bounds: arguments and their sizes by CommandLimits; kCommandMax for a command; kInlineMax for a
// line. A line with an array's size is decided by its 32nd byte.
//
// Thread rule: one reader a connection; the room for arguments may be shared by all
// connections of a core. Tested by command_reader_test.cc and fuzz/resp_session_fuzz.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::resp {

inline constexpr std::size_t kArgumentsMax = 1024;
inline constexpr std::size_t kCommandMax = std::size_t{1} << 20;  // bytes
inline constexpr std::size_t kInlineMax = std::size_t{64} << 10;  // bytes, with the line's end

struct CommandLimits {
  std::int64_t arguments = 0;
  std::int64_t bulk = 0;  // bytes of an argument
  // Redis's words when there are more.
  std::string_view arguments_refusal;
  std::string_view bulk_refusal;
};

// Before a client has shown who it is: Redis's limits. Afterwards: more than any check needs.
inline constexpr CommandLimits kStrangerLimits{
    .arguments = 10,
    .bulk = 16 << 10,
    .arguments_refusal = "unauthenticated multibulk length",
    .bulk_refusal = "unauthenticated bulk length"};
inline constexpr CommandLimits kClientLimits{.arguments = kArgumentsMax,
                                             .bulk = 64 << 10,
                                             .arguments_refusal = "invalid multibulk length",
                                             .bulk_refusal = "invalid bulk length"};

// Room for the arguments of one command, the name first.
using Arguments = std::array<std::string_view, kArgumentsMax>;

class CommandReader {
 public:
  enum class Status : std::uint8_t {
    kNeedMore,  // the bytes are the beginning of a command
    kCommand,
    kNothing,  // an empty line or array, which is ignored
    kRefused,  // not the protocol: see refusal(), and close the connection
  };

  // Reads the command at the front of `input`, which has all bytes that arrived and were not
  // consumed. After kCommand or kNothing, consume size() bytes before the next call. The arguments,
  // in `room`, are valid as long as these bytes, and until the next call.
  Status read(std::string_view input, const CommandLimits& limits, Arguments& room);

  // Whether a part of the next command has been read.
  bool has_begun() const { return expected_ > 0 || at_ > 0; }

  std::span<const std::string_view> arguments() const { return arguments_; }
  std::size_t size() const { return size_; }
  // In Redis's words, after "Protocol error: ".
  const std::string& refusal() const { return refusal_; }

 private:
  Status read_inline(std::string_view input, Arguments& room);
  Status read_array(std::string_view input, const CommandLimits& limits, Arguments& room);
  // kCommand: the count, or another argument, has been read.
  Status read_count(std::string_view input, const CommandLimits& limits);
  Status read_argument(std::string_view input, const CommandLimits& limits, Arguments& room);
  // Reads arguments of at most 99 bytes, as nearly all are.
  void read_short_arguments(std::string_view input, Arguments& room);
  Status complete(Status status, std::span<const std::string_view> arguments, std::size_t size);
  Status refuse(std::string_view why);

  // The state of a command that is still arriving. `at_`: where the next argument begins; in a
  // line, how far the search for its end came.
  std::size_t expected_ = 0;  // number of arguments; 0: not known yet
  std::size_t read_ = 0;      // arguments that were read
  std::size_t at_ = 0;

  std::span<const std::string_view> arguments_;
  std::size_t size_ = 0;
  std::string line_;  // the last inline command, without its quotes
  std::string refusal_;
};

}  // namespace weir::resp
