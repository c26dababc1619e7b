#include "simulate/redis_server.h"

#include <algorithm>
#include <utility>

#include "proto/output_buffer.h"
#include "proto/resp/reply_reader.h"
#include "store/redis/script/charge_script.h"

namespace weir::sim {
namespace {

constexpr resp::CommandLimits kLimits{.arguments = resp::kArgumentsMax,
                                      .bulk = resp::kCommandMax,
                                      .arguments_refusal = "invalid multibulk length",
                                      .bulk_refusal = "invalid bulk length"};
// A replica lags by no more than this.
constexpr Duration kLagMax = std::chrono::seconds(2);
constexpr Duration kPositionEvery = std::chrono::milliseconds(1);

}  // namespace

RedisServer::RedisServer(EventQueue& queue, Network& network, const Options& options)
    : queue_(queue),
      network_(network),
      number_(options.number),
      machine_(queue, options.ahead, 0),
      model_(std::make_unique<lab::RedisModel>()),
      room_(std::make_unique<resp::Arguments>()) {
  if (options.has_replica) get_replica();
}

void RedisServer::get_replica() {
  model_->keep_writes();
  replica_ = std::make_unique<lab::RedisModel>();
  replica_->set_run(++runs_);
  replica_->copy_from(*model_, model_->position());
  positions_.assign(1, {queue_.now(), model_->position()});
}

RedisServer::~RedisServer() = default;

void RedisServer::connected(Wire& wire) { clients_[&wire] = std::make_unique<Client>(); }

void RedisServer::closed(Wire& wire) {
  clients_.erase(&wire);
  std::erase(order_, &wire);
}

void RedisServer::received(Wire& wire, std::string_view bytes) {
  Client& client = *clients_.at(&wire);
  client.input += bytes;
  if (!is_paused_) return serve(wire, client);
  if (std::ranges::find(order_, &wire) == order_.end()) order_.push_back(&wire);
}

// One command after the other, each at the time when it is finished.
void RedisServer::serve(Wire& wire, Client& client) {
  std::string_view left = client.input;
  OutputBuffer out;
  while (!left.empty()) {
    const auto status = client.reader.read(left, kLimits, *room_);
    if (status == resp::CommandReader::Status::kNeedMore) break;
    if (status == resp::CommandReader::Status::kRefused) {
      clients_.erase(&wire);
      return wire.close(queue_.now());
    }
    busy_until_ = std::max(busy_until_, queue_.now()) + command_time_;
    model_->execute(client.peer, client.reader.arguments(), machine_.clock.at(busy_until_), out);
    ++commands_;
    left.remove_prefix(client.reader.size());
  }
  client.input.erase(0, client.input.size() - left.size());
  note_position();
  while (!out.empty()) {
    const std::string_view piece = out.view();
    wire.send(piece, busy_until_);
    out.consume(piece.size());
  }
}

void RedisServer::note_position() {
  if (replica_ == nullptr) return;
  if (queue_.now() < positions_.back().first + kPositionEvery) return;
  positions_.emplace_back(queue_.now(), model_->position());
  if (positions_.size() < 2 || positions_[1].first >= queue_.now() - kLagMax) return;
  while (positions_.size() > 1 && positions_[1].first < queue_.now() - kLagMax) {
    positions_.pop_front();
  }
  replica_->copy_from(*model_, positions_.front().second);
  model_->forget_writes_before(positions_.front().second);
}

void RedisServer::pause() { is_paused_ = true; }

void RedisServer::resume() {
  is_paused_ = false;
  for (Wire* wire : std::exchange(order_, {})) {
    const auto found = clients_.find(wire);
    if (found != clients_.end()) serve(*wire, *found->second);
  }
}

void RedisServer::stop(Network::Told told) {
  listens_ = false;
  network_.drop_server(number_, told);
}

void RedisServer::fail_over(Duration lag, Duration ahead) {
  const Instant then = queue_.now() - std::min(lag, kLagMax);
  std::uint64_t position = positions_.front().second;
  for (const auto& [at, reached] : positions_) {
    if (at <= then) position = reached;
  }
  if (lag == Duration(0)) position = model_->position();
  replica_->copy_from(*model_, position);
  model_ = std::move(replica_);
  machine_.clock = MachineClock(queue_.now(), ahead, 0);
  get_replica();
}

std::optional<std::int64_t> RedisServer::left(const Charge& charge, const std::string& prefix,
                                              Script script) {
  ChargeCall call(prefix);
  call.add(ScriptOperation::kLook, {&charge, 1});
  lab::RedisPeer peer;
  OutputBuffer out;
  const auto words = call.words();
  if (script == Script::kLoaded) {
    words[0] = "EVAL";
    words[1] = ChargeCall::text();
  }
  model_->execute(peer, words, machine_.now(), out);
  std::string bytes;
  while (!out.empty()) {
    bytes += out.view();
    out.consume(out.view().size());
  }
  resp::ReplyReader reader;
  if (reader.read(bytes) != resp::ReplyReader::Status::kReply) return std::nullopt;
  ChargeReplies replies(reader.reply());
  Decision decision;
  if (replies.read({&charge, 1}, {&decision, 1}) != ChargeFailure::kNone) return std::nullopt;
  return decision.remaining;
}

}  // namespace weir::sim
