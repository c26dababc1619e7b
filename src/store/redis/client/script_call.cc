#include "store/redis/client/script_call.h"

namespace weir {

std::optional<RedisFailure> ScriptCall::send(std::span<std::string_view> words, std::uint16_t slot,
                                             Instant deadline, Instant now) {
  words_ = words;
  slot_ = slot;
  deadline_ = deadline;
  was_unknown_ = false;
  return client_.send(words, slot, deadline, *this, now);
}

void ScriptCall::replied(const resp::Reply& reply, Instant now) noexcept {
  if (reply.error_code() != "NOSCRIPT" || was_unknown_) return answered(reply, now);
  was_unknown_ = true;
  words_[0] = "EVAL";
  words_[1] = text_;
  if (const auto refusal = client_.send(words_, slot_, deadline_, *this, now)) {
    failed(*refusal, now);
  }
}

}  // namespace weir
