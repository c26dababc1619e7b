#include "load/worker.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <span>

namespace weir::load {
namespace {

using namespace std::chrono_literals;
using Io = Connection::Io;

// The most times that closed connections are opened again: enough for a server that closes after
// every thousand requests, and an end with a server that closes at once.
constexpr std::uint64_t kReconnectsMax = 100'000;

Nanoseconds thread_cpu() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto read = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return read(usage.ru_utime) + read(usage.ru_stime);
}

}  // namespace

Worker::Worker(const Target& target, const LoadPlan& plan, const CodecFactory& codec)
    : target_(target),
      plan_(plan),
      codec_(codec),
      keys_(plan.keys, plan.seed),
      blocked_(plan.connections),
      alive_(plan.connections),
      buffer_(Connection::kBufferSize),
      batch_keys_(plan.depth),
      batch_times_(plan.depth) {
  for (std::size_t index = 0; index < plan.connections; ++index) connections_.push_back(connect());
  if (!epoll_.is_open()) throw LoadError("cannot create an epoll instance");
  for (std::size_t index = 0; index < plan.connections; ++index) {
    watch(index, EPOLL_CTL_ADD, EPOLLIN);
  }
}

LoadResult Worker::run(Time start) {
  const Nanoseconds cpu_before = thread_cpu();
  end_ = start + plan_.duration;
  if (plan_.rate) pace_ = std::make_unique<Pace>(*plan_.rate, start);
  if (!pace_) {
    for (std::size_t index = 0; index < connections_.size(); ++index) refill(index);
  }
  Time now = LoadClock::now();
  while (!over(now)) {
    if (pace_ && may_send(now)) feed_due(now);
    poll(now);
    now = LoadClock::now();
  }
  finish(now);
  const Time last = std::max(result_.outcome.last_reply, std::min(now, end_));
  result_.elapsed = last - start;
  result_.cpu = thread_cpu() - cpu_before;
  return std::move(result_);
}

std::unique_ptr<Connection> Worker::connect() {
  return std::make_unique<Connection>(target_, codec_(plan_.depth), plan_.depth);
}

void Worker::watch(std::size_t index, int operation, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = index;
  ::epoll_ctl(epoll_.get(), operation, connections_[index]->descriptor(), &event);
}

void Worker::poll(Time now) {
  std::array<epoll_event, 256> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), longest_wait_ms(now));
  for (int event = 0; event < count; ++event) {
    const auto at = static_cast<std::size_t>(event);
    handle(events[at].data.u64, events[at].events);
  }
}

// Rounded down: the last millisecond before a request is due is spent polling, because a
// sleep would end too late.
int Worker::longest_wait_ms(Time now) const {
  Time until = now < end_ ? end_ : end_ + plan_.drain;
  if (pace_ && may_send(now)) {
    // A late request already waits for room, so for a reply, not for a time.
    const Time next = pace_->due_at(sent_);
    if (next > now) until = std::min(until, next);
  }
  return static_cast<int>((until - now) / 1ms);
}

bool Worker::over(Time now) const {
  return now >= end_ + plan_.drain || alive_ == 0 || !(may_send(now) || outstanding());
}

void Worker::handle(std::size_t index, std::uint32_t events) {
  if (!connections_[index]) return;
  if ((events & EPOLLOUT) != 0) {
    const Io io = connections_[index]->flush();
    settle(index, io);
    if (io == Io::kClosed) return;
  }
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0 &&
      connections_[index]->receive(buffer_, result_.outcome) == Io::kClosed) {
    return replace(index);
  }
  if (!pace_) refill(index);
}

// Closed loop: the next batch, once the last is answered.
void Worker::refill(std::size_t index) {
  if (!connections_[index] || connections_[index]->outstanding() > 0) return;
  const Time now = LoadClock::now();
  if (!may_send(now)) return;
  ask(index, std::min<std::uint64_t>(plan_.depth, plan_.requests_max - sent_), now);
}

// Open loop: all requests that are due, in turns over the connections with room.
void Worker::feed_due(Time now) {
  const std::uint64_t due = std::min(pace_->due(now), plan_.requests_max);
  std::size_t full = 0;
  while (sent_ < due && full < connections_.size()) {
    const std::size_t index = turn_;
    turn_ = turn_ + 1 == connections_.size() ? 0 : turn_ + 1;
    const std::size_t room = connections_[index] ? connections_[index]->room() : 0;
    // One request each while we keep up; a backlog goes out in batches, spread evenly.
    const std::uint64_t fair_share = (due - sent_) / connections_.size() + 1;
    const std::uint64_t count = std::min<std::uint64_t>({room, due - sent_, fair_share});
    full = count > 0 ? 0 : full + 1;
    if (count > 0) ask(index, count, now);
  }
}

void Worker::ask(std::size_t index, std::size_t count, Time now) {
  for (std::size_t request = 0; request < count; ++request) {
    batch_keys_[request] = keys_.next();
    batch_times_[request] = pace_ ? pace_->due_at(sent_ + request) : now;
  }
  sent_ += count;
  settle(index, connections_[index]->send(std::span(batch_keys_).first(count),
                                          std::span(batch_times_).first(count)));
}

// Makes epoll watch for the events that the connection waits for.
void Worker::settle(std::size_t index, Io io) {
  if (io == Io::kClosed) return replace(index);
  const bool blocked = io == Io::kBlocked;
  if (blocked == blocked_[index]) return;
  blocked_[index] = blocked;
  watch(index, EPOLL_CTL_MOD, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Worker::replace(std::size_t index) {
  result_.lost += connections_[index]->outstanding();
  connections_[index].reset();  // epoll forgets a closed socket by itself
  try {
    if (result_.reconnects == kReconnectsMax) throw LoadError("the server closes every connection");
    connections_[index] = connect();
    ++result_.reconnects;
    blocked_[index] = true;  // so epoll calls at once, and the first batch is sent
    watch(index, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
  } catch (const LoadError&) {
    --alive_;  // goes on without it; the run ends when none is left
  }
}

void Worker::finish(Time now) {
  for (const auto& connection : connections_) {
    if (!connection) continue;
    result_.unanswered += connection->outstanding();
    connection->abandon(now, result_.outcome.latency);
  }
  if (!pace_) return;
  const std::uint64_t due = std::min(pace_->due(std::min(now, end_) - 1ns), plan_.requests_max);
  for (; sent_ < due; ++sent_) {
    ++result_.unsent;
    result_.outcome.latency.record(now - pace_->due_at(sent_));
  }
}

}  // namespace weir::load
