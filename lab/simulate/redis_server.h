// RedisServer: a Redis of a simulation: the model behind a network, with a clock, a time that
// commands take, and a replica that lags.
//
// Thread rule: one thread. Tested by simulate_test.cc.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "proto/resp/command_reader.h"
#include "simulate/machine.h"
#include "simulate/network.h"
#include "simulate/redis/redis_model.h"
#include "weir/store.h"

namespace weir::sim {

class RedisServer final : public Service {
 public:
  static constexpr Duration kCommandTime = std::chrono::microseconds(20);

  struct Options {
    std::size_t number = 0;  // of the network's servers
    Duration ahead{0};       // of its clock before true time
    bool has_replica = false;
  };
  RedisServer(EventQueue& queue, Network& network, const Options& options);
  ~RedisServer();

  Instant now() const { return machine_.now(); }
  Machine& machine() { return machine_; }
  const lab::RedisModel& model() const { return *model_; }
  std::uint64_t commands() const { return commands_; }

  // ---- faults

  void set_command_time(Duration time) { command_time_ = time; }
  void pause();
  void resume();
  void set_condition(lab::RedisModel::Condition condition) { model_->set_condition(condition); }
  void forget_scripts() { model_->forget_scripts(); }
  void evict(std::size_t count, Prng& chance) { model_->evict(count, chance); }
  // No connection succeeds until start().
  void stop(Network::Told told);
  void start() { listens_ = true; }
  void forget_all() {
    model_->forget_all();
    model_->set_run(++runs_);
  }
  // The replica takes over, with the data of `lag` ago. Its clock is another one.
  void fail_over(Duration lag, Duration ahead);
  void forget_connections() { network_.drop_server(number_, Network::Told::kNo); }

  // How much the charge's key has left by the script; nullopt if unknown.
  enum class Script : std::uint8_t { kIfKnown, kLoaded };
  std::optional<std::int64_t> left(const Charge& charge, const std::string& prefix, Script script);

  // Its clock when it has finished its work: a busy Redis may have begun another window.
  Instant reached() const { return machine_.clock.at(std::max(busy_until_, queue_.now())); }

  bool listens() const override { return listens_; }
  void connected(Wire& wire) override;
  void received(Wire& wire, std::string_view bytes) override;
  void closed(Wire& wire) override;

 private:
  struct Client {
    lab::RedisPeer peer;
    resp::CommandReader reader;
    std::string input;
    bool is_gone = false;
  };

  void serve(Wire& wire, Client& client);
  void note_position();
  void get_replica();

  EventQueue& queue_;
  Network& network_;
  const std::size_t number_;
  Machine machine_;
  std::unique_ptr<lab::RedisModel> model_;
  std::unique_ptr<lab::RedisModel> replica_;  // null: no failover will come
  std::map<Wire*, std::unique_ptr<Client>> clients_;
  std::deque<Wire*> order_;  // of connections whose input waits
  std::unique_ptr<resp::Arguments> room_;
  Duration command_time_ = kCommandTime;
  Instant busy_until_{};
  bool listens_ = true;
  bool is_paused_ = false;
  std::uint64_t commands_ = 0;
  std::uint64_t runs_ = 1;
  std::deque<std::pair<Instant, std::uint64_t>> positions_;
};

}  // namespace weir::sim
