// Informant: the link to a server that knows where the masters are: one of several sentinels, or
// one node of a cluster. The client asks it the same question again and again, and goes on to the
// next server when one is silent or does not know.
//
// Thread rule: one core. Tested by clients_test.cc.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "store/redis/client/link.h"

namespace weir {

class Informant final : RedisCall {
 public:
  // The wait after an answer for which there was no memory.
  static constexpr Duration kAskAgain = std::chrono::milliseconds(100);

  struct Question {
    std::span<const std::string_view> words;  // outlive the informant
    Duration answer_max;
    // Uses an answer that is no error. Returns the answer's defect, one sentence without its stop;
    // empty: none.
    std::function<std::string(const resp::Reply& answer, Instant now)> use;
  };

  Informant(Login login, const RedisSurroundings& surroundings, Question question,
            Link::Changed changed);
  ~Informant() { Conversation::forget(*this); }

  Link& link() { return link_; }
  const Link& link() const { return link_; }
  // The defect of the last answer; empty: none.
  const std::string& complaint() const { return complaint_; }

  // Asks, unless an answer is due or there is no connection.
  void ask(Instant now);
  void ask_at(Instant when) { next_->set(when); }
  Instant asked_at() const { return asked_at_; }

 private:
  void replied(const resp::Reply& reply, Instant now) noexcept override;
  void failed(RedisFailure why, Instant now) noexcept override;
  void blame(std::string why, Instant now);

  const Question question_;
  bool is_asking_ = false;
  Instant asked_at_;
  std::string complaint_;
  std::unique_ptr<Alarm> next_;
  Link link_;
};

}  // namespace weir
