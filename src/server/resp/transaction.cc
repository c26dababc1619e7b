#include "server/resp/transaction.h"

#include "base/assert.h"
#include "proto/resp/command_writer.h"

namespace weir {

bool Transaction::add(std::span<const std::string_view> arguments) {
  if (is_spoilt()) return true;
  std::size_t bytes = commands_.size();
  for (const std::string_view argument : arguments) {
    bytes += argument.size() + resp::kWordFrameMax;
  }
  if (size_ == kCommandsMax || bytes > kBytesMax) return false;
  resp::write_command(commands_, arguments);
  ++size_;
  return true;
}

void Transaction::spoil() {
  state_ = State::kSpoilt;
  commands_ = {};
  size_ = 0;
}

std::span<const std::string_view> Transaction::front(resp::Arguments& room) {
  const auto status = reader_.read(commands_.view(), resp::kClientLimits, room);
  WEIR_ASSERT(status == resp::CommandReader::Status::kCommand);
  return reader_.arguments();
}

void Transaction::pop() {
  commands_.consume(reader_.size());
  --size_;
}

}  // namespace weir
