// Network: connections between the nodes and the servers of a simulation. Bytes of one connection
// arrive late and in order; between connections there is no order. A lost packet is a late packet,
// as TCP sends it again.
//
//   node:   Link -> dial() -> Session        (the product's own)
//   server: Service                          (redis_server.h)
//
// A path between a node and a server may be cut, in one direction or both. Sent bytes then wait
// until the path is whole, or until one end gives up. A server that has forgotten a connection
// answers the next bytes by breaking it: so connections are half open.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "proto/dialer.h"
#include "simulate/machine.h"

namespace weir::sim {

class Wire;

// A program that listens at an address. It receives and sends bytes.
class Service {
 public:
  virtual bool listens() const = 0;
  virtual void connected(Wire& wire) = 0;
  virtual void received(Wire& wire, std::string_view bytes) = 0;
  // The wire is about to go.
  virtual void closed(Wire& wire) = 0;

 protected:
  ~Service() = default;
};

enum class Towards : std::uint8_t { kServer, kNode };

// Between one node and one server.
struct Path {
  Duration latency = std::chrono::microseconds(300);  // one way
  Duration jitter = std::chrono::microseconds(200);
  std::uint32_t loss_ppm = 0;
  std::array<bool, 2> is_cut{};  // by Towards
};

class Network {
 public:
  // How long TCP waits before it sends a lost packet again. Each further wait is twice as long.
  static constexpr Duration kResendMin = std::chrono::milliseconds(200);

  Network(EventQueue& queue, std::uint64_t seed) : queue_(queue), chance_(seed) {}
  ~Network();

  // Servers are numbered in the order in which they are added.
  void add_server(std::string address, Service& service);
  Path& path(std::size_t node, std::size_t server);
  // A path is whole again, or cut in another way: waiting bytes go on.
  void changed(std::size_t node, std::size_t server);

  // The connections of a node, or of a server, end without a word (it has died).
  void drop_node(std::size_t node);
  // kYes: nodes learn it at once, as the server's machine lives on. kNo: their connections are half
  // open.
  enum class Told : std::uint8_t { kYes, kNo };
  void drop_server(std::size_t server, Told told);

  Prng& chance() { return chance_; }
  EventQueue& queue() { return queue_; }
  std::uint64_t packets() const { return packets_; }

 private:
  friend class SimDialer;
  friend class Wire;

  struct Server {
    std::string address;
    Service* service;
  };
  std::size_t server_at(const std::string& address) const;  // kNone: no server is there
  Duration trip(const Path& path);
  void bury(Wire& wire);

  static constexpr std::size_t kNone = SIZE_MAX;

  EventQueue& queue_;
  Prng chance_;
  std::vector<Server> servers_;
  std::map<std::pair<std::size_t, std::size_t>, Path> paths_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::vector<std::unique_ptr<Wire>> dead_;  // until the next one is made
  std::uint64_t packets_ = 0;
};

// One connection. The node's session is in it.
class Wire final : Waker {
 public:
  Wire(Network& network, Machine& machine, std::size_t node, std::size_t server);
  ~Wire();

  // For the server.
  void send(std::string_view bytes, Instant at);
  void close(Instant at);
  std::size_t node() const { return node_; }
  std::size_t server() const { return server_; }
  void* context = nullptr;  // the service's own

 private:
  friend class Network;
  friend class SimDialer;

  struct Packet {
    Instant due;
    enum class Kind : std::uint8_t { kBytes, kEnd, kBreak } kind;
    std::string bytes;
  };
  // One direction.
  struct Lane {
    std::deque<Packet> packets;
    Instant last_due{};
    std::unique_ptr<Task> delivery;
  };

  void open(std::unique_ptr<Session> session);
  void wake() noexcept override;
  void run_session();
  void put(Towards towards, Packet::Kind kind, std::string bytes, Instant at);
  void plan(Towards towards);
  void deliver(Towards towards);
  void take_at_node(Packet packet);
  void take_at_server(Packet packet);
  void end_session();
  Lane& lane(Towards towards) { return lanes_[static_cast<std::size_t>(towards)]; }

  Network& network_;
  Machine& machine_;
  const std::size_t node_;
  const std::size_t server_;
  std::unique_ptr<Session> session_;  // null: the node has closed it
  bool is_served_ = true;             // the server knows of it
  std::array<Lane, 2> lanes_;
  Task round_;  // the session's work at the end of the loop's round
};

// Connections of one node.
class SimDialer final : public Dialer {
 public:
  SimDialer(Network& network, Machine& machine, std::size_t node)
      : network_(network), machine_(machine), node_(node) {}

  std::unique_ptr<Dial> dial(const Destination& destination, Instant deadline,
                             DialListener& listener) override;

 private:
  class Attempt;

  Network& network_;
  Machine& machine_;
  const std::size_t node_;
};

}  // namespace weir::sim
