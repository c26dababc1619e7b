#include "cli/node/webhook.h"

#include <utility>

#include "cli/http/http_client.h"

namespace weir {

Webhook::Webhook(Options options, Done done)
    : options_(std::move(options)), done_(std::move(done)), thread_([this] { work_off(); }) {}

void Webhook::post(std::string json) {
  {
    const std::scoped_lock lock(mutex_);
    if (is_stopping_) return;
    if (waiting_.size() == kWaitingMax) {
      figures_.dropped += 1;
      return;
    }
    waiting_.push_back(std::move(json));
  }
  wake_.notify_one();
}

void Webhook::stop() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  stop_.request_stop();
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Webhook::Figures Webhook::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

void Webhook::work_off() {
  while (const auto json = next()) {
    const Outcome outcome = deliver(*json);
    {
      const std::scoped_lock lock(mutex_);
      if (is_stopping_ && !outcome.fault.empty()) return;
      (outcome.fault.empty() ? figures_.delivered : figures_.failed) += 1;
    }
    done_(outcome);
  }
}

// Nothing when the node stops.
std::optional<std::string> Webhook::next() {
  auto lock = std::unique_lock(mutex_);
  wake_.wait(lock, [this] { return is_stopping_ || !waiting_.empty(); });
  if (is_stopping_) return std::nullopt;
  auto json = std::move(waiting_.front());
  waiting_.pop_front();
  return json;
}

Webhook::Outcome Webhook::deliver(const std::string& json) {
  Outcome outcome;
  for (std::size_t tried = 0;; ++tried) {
    auto made = attempt(json);
    outcome = {.fault = std::move(made.fault), .attempts = tried + 1};
    if (outcome.fault.empty() || !made.may_try_again) return outcome;
    if (tried == options_.pauses.size() || !pause(options_.pauses[tried])) return outcome;
  }
}

// False if the node stops.
bool Webhook::pause(Duration pause) {
  auto lock = std::unique_lock(mutex_);
  return !wake_.wait_for(lock, pause, [this] { return is_stopping_; });
}

Webhook::Attempt Webhook::attempt(const std::string& json) {
  const HttpQuestion question{.url = options_.url.text,
                              .token = options_.token.value_or(""),
                              .method = "POST",
                              .body = json};
  const auto reply = ask_http(question, options_.patience, stop_.get_token());
  if (!reply) return {.fault = reply.error().message};
  const long status = reply->status;
  if (status / 100 == 2) return {};
  return {.fault = "it answered " + std::to_string(status),
          .may_try_again = status == 429 || status / 100 == 5};
}

}  // namespace weir
