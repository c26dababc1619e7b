#include "simulate/network.h"

#include <algorithm>
#include <array>

namespace weir::sim {

// ---- Network

Network::~Network() = default;

void Network::add_server(std::string address, Service& service) {
  servers_.push_back({.address = std::move(address), .service = &service});
}

Path& Network::path(std::size_t node, std::size_t server) { return paths_[{node, server}]; }

void Network::changed(std::size_t node, std::size_t server) {
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    Wire& wire = *wires_[i];
    if (wire.node_ != node || wire.server_ != server) continue;
    for (const Towards towards : {Towards::kServer, Towards::kNode}) wire.plan(towards);
  }
}

std::size_t Network::server_at(const std::string& address) const {
  const auto found = std::ranges::find(servers_, address, &Server::address);
  return found == servers_.end() ? kNone : static_cast<std::size_t>(found - servers_.begin());
}

Duration Network::trip(const Path& path) {
  ++packets_;
  Duration trip = path.latency;
  if (path.jitter.count() > 0) {
    trip += Duration(chance_.below(static_cast<std::uint32_t>(path.jitter.count()) + 1));
  }
  for (Duration wait = kResendMin;
       chance_.below(1'000'000) < path.loss_ppm && wait < 32 * kResendMin; wait *= 2) {
    trip += wait;
  }
  return trip;
}

void Network::drop_node(std::size_t node) {
  for (std::size_t i = wires_.size(); i > 0; --i) {  // each wire may be removed
    if (wires_[i - 1]->node_ == node) wires_[i - 1]->end_session();
  }
}

void Network::drop_server(std::size_t server, Told told) {
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    Wire& wire = *wires_[i];
    if (wire.server_ != server || !wire.is_served_) continue;
    servers_[server].service->closed(wire);
    wire.is_served_ = false;
    wire.lane(Towards::kServer).packets.clear();
    if (told == Told::kYes) wire.put(Towards::kNode, Wire::Packet::Kind::kBreak, {}, queue_.now());
  }
}

void Network::bury(Wire& wire) {
  const auto found = std::ranges::find_if(wires_, [&](const auto& w) { return w.get() == &wire; });
  if (found == wires_.end()) return;
  dead_.push_back(std::move(*found));
  wires_.erase(found);
}

// ---- Wire

Wire::Wire(Network& network, Machine& machine, std::size_t node, std::size_t server)
    : network_(network),
      machine_(machine),
      node_(node),
      server_(server),
      round_(network.queue(), [this](Instant) { run_session(); }) {
  for (const Towards towards : {Towards::kServer, Towards::kNode}) {
    lane(towards).delivery =
        std::make_unique<Task>(network.queue(), [this, towards](Instant) { deliver(towards); });
  }
}

Wire::~Wire() = default;

void Wire::open(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  network_.servers_[server_].service->connected(*this);
  session_->attach(*this);
}

void Wire::wake() noexcept { round_.set(network_.queue().now()); }

void Wire::run_session() {
  if (session_ == nullptr) return;
  if (machine_.stands_still()) return round_.set(machine_.frozen_until);
  session_->woken(machine_.now());
  for (std::string_view out = session_->output(); !out.empty(); out = session_->output()) {
    put(Towards::kServer, Packet::Kind::kBytes, std::string(out), network_.queue().now());
    session_->sent(out.size(), machine_.now());
  }
  if (!session_->finished()) return;
  put(Towards::kServer, Packet::Kind::kEnd, {}, network_.queue().now());
  end_session();
}

void Wire::send(std::string_view bytes, Instant at) {
  put(Towards::kNode, Packet::Kind::kBytes, std::string(bytes), at);
}

void Wire::close(Instant at) {
  is_served_ = false;
  lane(Towards::kServer).packets.clear();
  put(Towards::kNode, Packet::Kind::kEnd, {}, at);
}

void Wire::put(Towards towards, Packet::Kind kind, std::string bytes, Instant at) {
  Lane& to = lane(towards);
  const Instant due =
      std::max(at, network_.queue().now()) + network_.trip(network_.path(node_, server_));
  to.last_due = std::max(to.last_due, due);
  to.packets.push_back({.due = to.last_due, .kind = kind, .bytes = std::move(bytes)});
  if (to.packets.size() == 1) plan(towards);
}

// Bytes that wait at a cut path arrive when the path is whole and TCP tries again.
void Wire::plan(Towards towards) {
  Lane& to = lane(towards);
  if (to.packets.empty()) return to.delivery->set(Instant::max());
  const Path& path = network_.path(node_, server_);
  if (path.is_cut[static_cast<std::size_t>(towards)]) return to.delivery->set(Instant::max());
  Instant& due = to.packets.front().due;
  if (due < network_.queue().now()) due = network_.queue().now() + network_.trip(path);
  to.delivery->set(due);
}

void Wire::deliver(Towards towards) {
  Lane& from = lane(towards);
  if (from.packets.empty()) return;
  if (towards == Towards::kNode && machine_.stands_still()) {
    return from.delivery->set(machine_.frozen_until);
  }
  Packet packet = std::move(from.packets.front());
  from.packets.pop_front();
  plan(towards);
  if (towards == Towards::kNode) return take_at_node(std::move(packet));
  take_at_server(std::move(packet));
}

// The bytes arrive in pieces, cut anywhere.
void Wire::take_at_node(Packet packet) {
  std::string_view left = packet.bytes;
  while (session_ != nullptr && !left.empty()) {
    const auto space = session_->input_space();
    if (space.empty()) break;
    std::size_t size = std::min(space.size(), left.size());
    if (network_.chance_.below(4) == 0) {
      size = 1 + network_.chance_.below(static_cast<std::uint32_t>(size));
    }
    std::copy_n(left.begin(), size, space.begin());
    left.remove_prefix(size);
    session_->received(size, machine_.now());
  }
  if (session_ == nullptr) {
    network_.bury(*this);
    return;
  }
  if (packet.kind == Packet::Kind::kEnd) session_->peer_closed(machine_.now());
  if (packet.kind == Packet::Kind::kBreak) return end_session();
  run_session();
}

// The server resets a connection that it does not know.
void Wire::take_at_server(Packet packet) {
  Service& service = *network_.servers_[server_].service;
  if (!is_served_) {
    if (packet.kind == Packet::Kind::kBytes && session_ != nullptr) {
      put(Towards::kNode, Packet::Kind::kBreak, {}, network_.queue().now());
    }
    if (session_ == nullptr) network_.bury(*this);
    return;
  }
  if (packet.kind == Packet::Kind::kBytes) return service.received(*this, packet.bytes);
  service.closed(*this);
  is_served_ = false;
  network_.bury(*this);
}

// The node closes it, or has died. The server learns of it by bytes on their way, if there are any.
void Wire::end_session() {
  session_.reset();
  round_.set(Instant::max());
  lane(Towards::kNode).packets.clear();
  if (!is_served_ && lane(Towards::kServer).packets.empty()) network_.bury(*this);
}

// ---- SimDialer

// The outcome comes after a trip there and back. If the path is cut or the server stands still, it
// comes at the deadline.
class SimDialer::Attempt final : public Dial {
 public:
  Attempt(SimDialer& dialer, const Destination& destination, Instant deadline,
          DialListener& listener)
      : network_(dialer.network_),
        machine_(dialer.machine_),
        node_(dialer.node_),
        server_(network_.server_at(destination.to_string())),
        deadline_(machine_.clock.when(deadline)),
        listener_(listener),
        outcome_(network_.queue(), [this](Instant) { end(); }) {
    outcome_.set(server_ == Network::kNone ? network_.queue().now() : answered_at());
  }

 private:
  Instant answered_at() const {
    const Path& path = network_.path(node_, server_);
    if (path.is_cut[0] || path.is_cut[1]) return deadline_;
    const Instant answer = network_.queue().now() + network_.trip(path) + network_.trip(path);
    return std::min(deadline_, answer);
  }
  void end() {
    if (machine_.stands_still()) return outcome_.set(machine_.frozen_until);
    const Instant now = machine_.now();
    if (server_ == Network::kNone) return listener_.not_connected("its name is unknown", now);
    const Path& path = network_.path(node_, server_);
    if (network_.queue().now() >= deadline_ || path.is_cut[0] || path.is_cut[1]) {
      return listener_.not_connected("it does not answer", now);
    }
    if (!network_.servers_[server_].service->listens()) {
      return listener_.not_connected("it refuses connections", now);
    }
    network_.dead_.clear();
    network_.wires_.push_back(std::make_unique<Wire>(network_, machine_, node_, server_));
    Wire& wire = *network_.wires_.back();
    wire.open(listener_.connected(now));
  }

  Network& network_;
  Machine& machine_;
  const std::size_t node_;
  const std::size_t server_;
  const Instant deadline_;
  DialListener& listener_;
  Task outcome_;
};

std::unique_ptr<Dial> SimDialer::dial(const Destination& destination, Instant deadline,
                                      DialListener& listener) {
  return std::make_unique<Attempt>(*this, destination, deadline, listener);
}

}  // namespace weir::sim
