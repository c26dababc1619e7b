#include "server/resp/resp_test_door.h"

#include <algorithm>

namespace weir {
namespace {

template <typename Words>
std::string to_command(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto& word : words) {
    text.append("$").append(std::to_string(word.size())).append("\r\n");
    text.append(word).append("\r\n");
  }
  return text;
}

}  // namespace

void BreakableStore::decide(Batch& batch, Instant now) noexcept {
  ++batches;
  if (!broken) return store_->decide(batch, now);
  batch.error = StoreError::kUnavailable;
  batch.on_done(batch);
}

std::string command(std::initializer_list<std::string_view> words) { return to_command(words); }
std::string command(const std::vector<std::string>& words) { return to_command(words); }

RespTestClient::RespTestClient(RespTestDoor& door)
    : door_(door),
      session_(door.door.make_session({.address = IpAddress::parse("127.0.0.1")}, door.now)) {}

std::string RespTestClient::ask(std::string_view bytes) {
  return ask_in_pieces(bytes, bytes.size());
}

std::string RespTestClient::ask_in_pieces(std::string_view bytes, std::size_t piece) {
  std::string heard = drink();
  while (!bytes.empty()) {
    const std::size_t fed = feed(bytes.substr(0, piece));
    heard += drink() + wait();
    if (fed == 0) break;
    bytes.remove_prefix(fed);
  }
  return heard;
}

std::string RespTestClient::wait() {
  std::string heard;
  while (!session_->finished() && session_->input_space().empty()) {
    const Instant deadline = session_->deadline();
    if (deadline == Instant::max()) break;
    door_.now = std::max(door_.now, deadline);
    session_->expired(door_.now);
    heard += drink();
  }
  return heard;
}

std::string RespTestClient::drink() {
  std::string all;
  while (!session_->output().empty()) {
    all += session_->output();
    session_->sent(session_->output().size(), door_.now);
  }
  return all;
}

std::size_t RespTestClient::feed(std::string_view bytes) {
  return feed_piece(*session_, bytes, door_.now);
}

RespTestDoor::RespTestDoor() : RespTestDoor(Options{}) {}

RespTestDoor::RespTestDoor(Options options)
    : store(make_memory_store({.max_keys = 4096}, kStart)),
      hasher(HashSecret{}),
      engine(store, hasher, traffic.add_core()),
      blocks(hasher),
      node({.version = "1.2.3",
            .started = kStart,
            .access = std::move(options.access),
            .logins = &logins},
           traffic),
      door(node, engine, blocks, std::make_shared<const RuleSet>(std::move(options.rules))) {
  engine.holds = &holds;
}

}  // namespace weir
