#include "simulate/faults.h"

#include <algorithm>

namespace weir::sim {
namespace {

using Kind = Fault::Kind;
using Condition = lab::RedisModel::Condition;

constexpr Duration kSlowPath = std::chrono::milliseconds(15);
constexpr Duration kSlowCommand = std::chrono::milliseconds(2);
constexpr Duration kSwitchOver = std::chrono::milliseconds(300);
constexpr std::size_t kEvicted = 8;

}  // namespace

Faults::Faults(World& world) : world_(world) {
  const auto& faults = world.scenario().faults;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    begins_.push_back(std::make_unique<Task>(
        world.queue(), [this, &fault = faults[i], i](Instant) { begin(fault, i); }));
    ends_.push_back(std::make_unique<Task>(world.queue(), [this, &fault = faults[i]](Instant) {
      world_.note("end of " + std::string(name_of(fault.kind)));
      end(fault);
      world_.fault_ends();
    }));
    begins_.back()->set(world.now() + faults[i].at);
  }
}

void Faults::for_each_node(const Fault& fault, const std::function<void(std::size_t)>& act) {
  for (std::size_t node = 0; node < world_.nodes(); ++node) {
    if (!fault.node || static_cast<std::size_t>(*fault.node) == node) act(node);
  }
}

void Faults::break_path(const Fault& fault, bool is_broken) {
  for_each_node(fault, [&](std::size_t node) {
    Path& path = world_.network().path(node, 0);
    if (fault.kind == Kind::kSlowPath) {
      path.latency = world_.latency(node) + (is_broken ? kSlowPath : Duration(0));
    } else {
      path.is_cut[static_cast<std::size_t>(Towards::kNode)] = is_broken;
      if (fault.kind == Kind::kCut) {
        path.is_cut[static_cast<std::size_t>(Towards::kServer)] = is_broken;
      }
    }
    world_.network().changed(node, 0);
  });
}

void Faults::begin(const Fault& fault, std::size_t index) {
  if (world_.is_noting()) {
    world_.note(std::string(name_of(fault.kind)) +
                (fault.node ? " node " + std::to_string(*fault.node) : ""));
  }
  RedisServer* const redis = world_.redis();
  Instant ends = world_.now() + (lasts(fault.kind) ? fault.length : Duration(0));
  world_.fault_begins(fault);
  switch (fault.kind) {
    case Kind::kCut:
    case Kind::kHalfCut:
    case Kind::kSlowPath: break_path(fault, true); break;
    case Kind::kPause: redis->pause(); break;
    case Kind::kSlowRedis: redis->set_command_time(kSlowCommand); break;
    case Kind::kRestart:
      world_.lose_in_redis([&] { redis->forget_all(); });
      redis->stop(Network::Told::kYes);
      break;
    case Kind::kFailover:
      redis->stop(Network::Told::kYes);
      world_.lose_in_redis([&] {
        redis->fail_over(fault.length, redis->machine().clock.at(world_.now()) - world_.now());
      });
      ends += kSwitchOver;
      break;
    case Kind::kForget: redis->forget_scripts(); break;
    case Kind::kEvict:
      world_.lose_in_redis([&] { redis->evict(kEvicted, world_.chance()); });
      break;
    case Kind::kReadOnly: redis->set_condition(Condition::kReadOnly); break;
    case Kind::kFull: redis->set_condition(Condition::kOutOfMemory); break;
    case Kind::kHalfOpen: redis->forget_connections(); break;
    case Kind::kClock: redis->machine().clock.step(fault.length, world_.now()); break;
    case Kind::kClockBack: redis->machine().clock.step(-fault.length, world_.now()); break;
    case Kind::kKill:
      for_each_node(fault, [&](std::size_t node) {
        world_.network().drop_node(node);
        world_.stop_node(node);
      });
      break;
    case Kind::kLeave:
      for_each_node(fault, [&](std::size_t node) { world_.leave_node(node); });
      break;
    case Kind::kReload:
      for_each_node(fault, [&](std::size_t node) {
        if (world_.node(node) != nullptr) world_.node(node)->reload();
      });
      break;
    case Kind::kZone:
      for_each_node(fault, [&](std::size_t node) {
        if (world_.node(node) != nullptr) world_.node(node)->use_zone(fault.zone, fault.rule);
      });
      break;
    case Kind::kRows:
      for_each_node(fault, [&](std::size_t node) { world_.change_rows(node, fault); });
      break;
    case Kind::kFreeze:
      for_each_node(fault, [&](std::size_t node) {
        Instant& until = world_.machine(node).frozen_until;
        until = std::max(until, ends);
      });
      break;
    case Kind::kBlock:
    case Kind::kLift:
      for_each_node(fault, [&](std::size_t node) { world_.act_on_block(node, fault); });
      break;
  }
  ends_[index]->set(ends);
}

void Faults::end(const Fault& fault) {
  RedisServer* const redis = world_.redis();
  switch (fault.kind) {
    case Kind::kCut:
    case Kind::kHalfCut:
    case Kind::kSlowPath: break_path(fault, false); break;
    case Kind::kPause: redis->resume(); break;
    case Kind::kSlowRedis: redis->set_command_time(RedisServer::kCommandTime); break;
    case Kind::kRestart:
    case Kind::kFailover: redis->start(); break;
    case Kind::kReadOnly:
    case Kind::kFull: redis->set_condition(Condition::kReady); break;
    case Kind::kKill:
    case Kind::kLeave:
      for_each_node(fault, [&](std::size_t node) {
        world_.stop_node(node);
        world_.start_node(node);
      });
      break;
    default: break;
  }
}

}  // namespace weir::sim
