#include "store/redis/client/informant.h"

#include <utility>

#include "base/if_memory.h"

namespace weir {

Informant::Informant(Login login, const RedisSurroundings& surroundings, Question question,
                     Link::Changed changed)
    : question_(std::move(question)),
      next_(surroundings.reactor.make_alarm([this](Instant now) { ask(now); })),
      link_(std::move(login), surroundings, std::move(changed)) {}

void Informant::ask(Instant now) {
  if (is_asking_) return;
  asked_at_ = now;
  is_asking_ = !link_.send(question_.words, now + question_.answer_max, *this, now);
}

void Informant::replied(const resp::Reply& reply, Instant now) noexcept {
  is_asking_ = false;
  const bool is_done = has_memory_for([&] {
    complaint_.clear();
    std::string wrong = reply.is_error() ? std::string(reply.text()) : question_.use(reply, now);
    if (!wrong.empty()) blame(std::move(wrong), now);
  });
  if (!is_done) ask_at(now + kAskAgain);
}

void Informant::failed(RedisFailure why, Instant now) noexcept {
  is_asking_ = false;
  if (why != RedisFailure::kTimedOut) return;
  if (has_memory_for([&] { blame("it does not answer in time", now); })) return;
  ask_at(now + kAskAgain);
}

// Another server may know better.
void Informant::blame(std::string why, Instant now) {
  complaint_ = link_.destination().to_string() + ": " + why;
  link_.give_up({.why = std::move(why)}, now);
}

}  // namespace weir
