#include "cli/node/webhook.h"

#include <utility>

#include "cli/http/http_client.h"

namespace weir {

bool pause(const std::stop_token& stop, Duration length) {
  std::mutex nobodys;
  auto lock = std::unique_lock(nobodys);
  std::condition_variable_any().wait_for(lock, stop, length, [] { return false; });
  return !stop.stop_requested();
}

Webhook::Webhook(Options options, Done done)
    : options_(std::move(options)),
      done_(std::move(done)),
      thread_([this](const std::stop_token& stop) { work_off(stop); }) {}

void Webhook::post(std::string json) {
  {
    const std::scoped_lock lock(mutex_);
    if (thread_.get_stop_token().stop_requested()) return;
    if (waiting_.size() == kWaitingMax) {
      figures_.dropped += 1;
      return;
    }
    waiting_.push_back(std::move(json));
  }
  wake_.notify_one();
}

void Webhook::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

Webhook::Figures Webhook::figures() const {
  const std::scoped_lock lock(mutex_);
  return figures_;
}

void Webhook::work_off(const std::stop_token& stop) {
  while (const auto json = next(stop)) {
    const Outcome outcome = deliver(*json, stop);
    {
      const std::scoped_lock lock(mutex_);
      if (stop.stop_requested() && !outcome.fault.empty()) return;
      (outcome.fault.empty() ? figures_.delivered : figures_.failed) += 1;
    }
    done_(outcome);
  }
}

// nullopt when the node stops.
std::optional<std::string> Webhook::next(const std::stop_token& stop) {
  auto lock = std::unique_lock(mutex_);
  wake_.wait(lock, stop, [this] { return !waiting_.empty(); });
  if (stop.stop_requested()) return std::nullopt;
  auto json = std::move(waiting_.front());
  waiting_.pop_front();
  return json;
}

Webhook::Outcome Webhook::deliver(const std::string& json, const std::stop_token& stop) const {
  Outcome outcome;
  for (std::size_t tried = 0;; ++tried) {
    auto made = attempt(json, stop);
    outcome = {.fault = std::move(made.fault), .attempts = tried + 1};
    if (outcome.fault.empty() || !made.may_try_again) return outcome;
    if (tried == options_.pauses.size() || !pause(stop, options_.pauses[tried])) return outcome;
  }
}

Webhook::Attempt Webhook::attempt(const std::string& json, const std::stop_token& stop) const {
  const HttpQuestion question{.url = options_.url.text,
                              .token = options_.token.value_or(""),
                              .method = "POST",
                              .body = json};
  const auto reply = ask_http(question, options_.patience, stop);
  if (!reply) return {.fault = reply.error().message};
  const long status = reply->status;
  if (status / 100 == 2) return {};
  return {.fault = "it answered " + std::to_string(status),
          .may_try_again = status == 429 || status / 100 == 5};
}

}  // namespace weir
