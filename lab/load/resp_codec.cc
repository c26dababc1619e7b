#include "load/resp_codec.h"

namespace weir::load {
namespace {

void count(const resp::Reply& reply, Tally& tally) {
  ++tally.replies;
  if (reply.is_error()) ++tally.failed;
  if (const auto first = reply[0].integer()) ++(*first == 0 ? tally.allowed : tally.denied);
}

}  // namespace

Request make_command(std::span<const std::string> words) {
  Request request;
  request.bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    const bool is_key = word == kKeyWord;
    const std::string text = is_key ? "k" + std::string(kKeyDigits, '0') : word;
    request.bytes += "$" + std::to_string(text.size()) + "\r\n";
    if (is_key) request.key_at = request.bytes.size() + 1;
    request.bytes += text + "\r\n";
  }
  return request;
}

std::optional<std::size_t> RespCodec::replies(std::string_view bytes, Tally& tally) {
  using Status = resp::ReplyReader::Status;
  std::size_t used = 0;
  for (; used < bytes.size(); used += reader_.size()) {
    const Status status = reader_.read(bytes.substr(used));
    if (status == Status::kBroken) return {};
    if (status == Status::kNeedMore) break;
    count(reader_.reply(), tally);
  }
  return used;
}

}  // namespace weir::load
