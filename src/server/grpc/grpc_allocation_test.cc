// A call allocates nothing once its connection is warm. This program counts the allocations of C++,
// and those of nghttp2 through its pool.

#include <string>

#include <gtest/gtest.h>

#include "base/allocation_testing.h"
#include "server/grpc/grpc_test_door.h"

namespace weir {
namespace {

// A client's bytes for a number of calls, recorded from a conversation, so that only the server
// runs while we count. Its tables of header fields are in step, because both begin empty.
class Recording final : public SessionFactory {
 public:
  explicit Recording(SessionFactory& door) : door_(door) {}

  std::unique_ptr<Session> make_session(const Peer& peer, Instant now) override {
    return std::make_unique<Tape>(door_.make_session(peer, now), reads);
  }

  std::vector<std::string> reads;

 private:
  class Tape final : public Session {
   public:
    Tape(std::unique_ptr<Session> session, std::vector<std::string>& reads)
        : session_(std::move(session)), reads_(reads) {}
    void attach(Waker& waker) override { session_->attach(waker); }
    void woken(Instant now) override { session_->woken(now); }
    std::span<char> input_space() override { return space_ = session_->input_space(); }
    void received(std::size_t size, Instant now) override {
      reads_.emplace_back(space_.data(), size);
      session_->received(size, now);
    }
    void peer_closed(Instant now) override { session_->peer_closed(now); }
    std::string_view output() const override { return session_->output(); }
    void sent(std::size_t size, Instant now) override { session_->sent(size, now); }
    void stamp(Duration elapsed) override { session_->stamp(elapsed); }
    Instant deadline() const override { return session_->deadline(); }
    void expired(Instant now) override { session_->expired(now); }
    void drain() override { session_->drain(); }
    bool finished() const override { return session_->finished(); }

   private:
    std::unique_ptr<Session> session_;
    std::vector<std::string>& reads_;
    std::span<char> space_;
  };

  SessionFactory& door_;
};

rls::Request large_request() {
  rls::Request request = request_about("user", "a name that does not fit into a short string");
  for (int i = 0; i < 20; ++i) {
    auto& descriptor = *request.add_descriptors();
    descriptor = request.descriptors(0);
    descriptor.mutable_hits_addend()->set_value(2);
    if (i % 2 == 0) descriptor.mutable_limit()->set_requests_per_unit(100);
    if (i % 2 == 0) descriptor.mutable_limit()->set_unit(envoy::type::v3::HOUR);
  }
  return request;
}

std::vector<std::string> record(GrpcTestDoor& door, const std::string& message) {
  Recording recording(door.door);
  Http2Peer peer(recording, door.now);
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 10; ++i) {
      GrpcTestDoor::call(peer, std::string(grpc::ShouldRateLimit::kPath), message);
    }
    peer.talk(door.now);
  }
  return recording.reads;
}

void expect_no_allocation(const std::string& message) {
  GrpcTestDoor door({rule_for("user", 1'000'000)});
  const auto reads = record(door, message);
  const auto session = door.door.make_session({}, door.now);
  std::size_t warm = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i == reads.size() / 2) warm = allocations();
    std::memcpy(session->input_space().data(), reads[i].data(), reads[i].size());
    session->received(reads[i].size(), door.now);
    while (!session->output().empty()) session->sent(session->output().size(), door.now);
  }
  EXPECT_EQ(allocations() - warm, 0u);
  EXPECT_FALSE(session->finished());
}

TEST(GrpcAllocation, ACallAllocatesNothing) {
  expect_no_allocation(framed(request_about("user", "192.0.2.1")));
}

TEST(GrpcAllocation, NorDoesOneWithManyDescriptors) {
  expect_no_allocation(framed(large_request()));
}

// Memory for long keys would pile up, 4 MiB in each of 256 places.
TEST(GrpcAllocation, TheMemoryOfLongKeysIsNotKept) {
  GrpcTestDoor door({rule_for("user", 1'000'000)});
  const auto rules = std::make_shared<const RuleSet>(std::vector<Rule>{rule_for("user", 9)});
  AsksPool pool(door.engine, door.blocks, rules, DenialDoor::kGrpc);
  const auto allocations_for = [&](const std::string& key) {
    const std::size_t before = allocations();
    const AsksPtr asks = pool.take(Operation::kLook);
    asks->add({.rule = rules->find("user"), .key = key});
    asks->decide(door.now);
    return allocations() - before;
  };
  allocations_for("warm");
  EXPECT_EQ(allocations_for("warm"), 0u);
  const std::string usual(1'000, 'k');
  allocations_for(usual);
  EXPECT_EQ(allocations_for(usual), 0u);
  const std::string long_key(100'000, 'k');
  allocations_for(long_key);
  EXPECT_GT(allocations_for(long_key), 0u);
}

}  // namespace
}  // namespace weir
