#include "net/connection_set.h"

#include <algorithm>
#include <utility>

#include "net/sockets/socket_options.h"

namespace weir {
namespace {

// The most connections of one look: 4,096 take about half a millisecond, mostly cache misses.
constexpr std::size_t kSweepMax = 4'096;

}  // namespace

ConnectionSet::ConnectionSet(EventLoop& loop, ConnectionBudget& budget)
    : loop_(loop), budget_(budget), alarm_(loop.make_alarm([this](Instant now) { look(now); })) {}

ConnectionSet::~ConnectionSet() { reset_all(); }

void ConnectionSet::add(Channel channel, std::unique_ptr<Session> session) {
  add(std::make_unique<Connection>(*this, std::move(channel), std::move(session)));
}

void ConnectionSet::add(UniqueFd socket, std::unique_ptr<Entrance> entrance) {
  add(std::make_unique<Connection>(*this, std::move(socket), std::move(entrance)));
}

void ConnectionSet::add(std::unique_ptr<Connection> connection) {
  connection->index_ = static_cast<std::uint32_t>(connections_.size());
  connections_.push_back(std::move(connection));
  if (!connections_.back()->start()) destroy(*connections_.back());
}

void ConnectionSet::destroy(Connection& connection) {
  forget_look(connection);
  const auto index = connection.index_;
  connections_.back()->index_ = index;
  std::swap(connections_[index], connections_.back());
  connections_.pop_back();
  budget_.give_back();
  if (connections_.empty() && when_empty_) when_empty_();
}

void ConnectionSet::look_at(Connection& connection, Instant when) {
  if (when >= connection.look_at_) return;
  forget_look(connection);
  looks_.emplace(when, &connection);
  connection.look_at_ = when;
  if (looks_.begin()->second == &connection) alarm_->set(when);
}

void ConnectionSet::forget_look(Connection& connection) {
  if (connection.look_at_ != Instant::max()) looks_.erase({connection.look_at_, &connection});
  connection.look_at_ = Instant::max();
}

// Each once: a sweep sets deadlines in the future, or the alarm rings again.
void ConnectionSet::look(Instant now) {
  for (auto left = looks_.size(); left > 0 && looks_.begin()->first <= now; --left) {
    Connection& connection = *looks_.begin()->second;
    forget_look(connection);
    connection.sweep();
  }
  if (!looks_.empty()) alarm_->set(looks_.begin()->first);
}

Duration ConnectionSet::sweep_some(Duration whole_round) {
  // Downward: destroying a connection moves the last one, which has been swept, to its place.
  if (sweep_from_ == 0) sweep_from_ = connections_.size();
  auto next = std::min(sweep_from_, connections_.size());
  const auto end = next - std::min(next, kSweepMax);
  while (next > end) connections_[--next]->sweep();
  sweep_from_ = end;
  const auto parts = connections_.size() / kSweepMax + 1;
  return whole_round / static_cast<Duration::rep>(parts);
}

void ConnectionSet::queue(Connection& connection) noexcept {
  if (!connection.TurnHook::is_linked()) queue_.push_back(connection);
  turns_->set(loop_.now());
}

void ConnectionSet::give_turns() {
  const Instant end = loop_.read_clock() + kTurnsMax;
  const Connection* const last = queue_.empty() ? nullptr : &queue_.back();
  bool is_last = false;
  while (!queue_.empty() && !is_last && loop_.read_clock() < end) {
    Connection& next = queue_.front();
    queue_.pop_front();
    is_last = &next == last;
    next.take_turn();
  }
  if (!queue_.empty()) turns_->set(loop_.now());
}

void ConnectionSet::account(std::size_t before, std::size_t after) {
  budget_.change(before, after);
  if (after > before && when_over_ && budget_.is_over()) when_over_();
}

std::size_t ConnectionSet::shed() {
  const std::size_t least = budget_.shed_from();
  std::vector<Connection*> worst;
  for (const auto& connection : connections_) {
    if (connection->held() >= least) worst.push_back(connection.get());
  }
  std::ranges::sort(worst, std::ranges::greater(), &Connection::held);
  const auto count = connections_.size();
  const Instant end = loop_.read_clock() + kShedMax;
  for (Connection* connection : worst) {
    if (!budget_.is_to_shed() || loop_.read_clock() > end) break;
    connection->shed();
  }
  return count - connections_.size();
}

void ConnectionSet::drain_all() {
  for (auto next = connections_.size(); next > 0;) connections_[--next]->drain();
}

std::size_t ConnectionSet::reset_all() {
  const auto count = connections_.size();
  while (!connections_.empty()) {
    reset_on_close(connections_.back()->socket());
    destroy(*connections_.back());
  }
  return count;
}

}  // namespace weir
