// For tests: a gRPC door over a real store, and a client that asks it.
//
// Thread rule: one thread.

#pragma once

#include <google/protobuf/message_lite.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proto/http2/http2_door.h"
#include "proto/http2/http2_peer_testing.h"
#include "server/grpc/grpc_door.h"
#include "weir/memory_store.h"

namespace weir {

inline const TestFields kGrpcFields = {{"te", "trailers"}, {"content-type", "application/grpc"}};

// The payload as it goes over the wire.
inline std::string framed(std::string_view payload) {
  const auto size = payload.size();
  std::string text(1, '\0');
  for (const auto byte : {size >> 24, size >> 16, size >> 8, size}) {
    text += static_cast<char>(byte);
  }
  return text.append(payload);
}
inline std::string framed(const google::protobuf::MessageLite& message) {
  return framed(message.SerializeAsString());
}

class GrpcTestDoor {
 public:
  static constexpr Instant kStart = instant_from_epoch_us(1'600'000'043'000'000);

  explicit GrpcTestDoor(std::vector<Rule> rules = {}, const RlsOptions& options = {})
      : store(make_memory_store({.max_keys = 1024}, kStart)),
        hasher(HashSecret{}),
        engine(*store, hasher, traffic.add_core()),
        blocks(hasher),
        grpc(node, engine, blocks, std::make_shared<const RuleSet>(std::move(rules)), options),
        door(grpc) {}

  // Starts a call on `peer`.
  static std::int32_t call(Http2Peer& peer, const std::string& path, std::string body) {
    return peer.ask({.path = path, .fields = kGrpcFields, .body = std::move(body)});
  }

  // The answer to one question on a connection of its own.
  Http2Reply ask(const Http2Question& question) {
    Http2Peer peer(door, now);
    const auto stream = peer.ask(question);
    peer.talk(now);
    return peer.reply(stream);
  }
  Http2Reply ask(const std::string& path, std::string body) {
    return ask({.path = path, .fields = kGrpcFields, .body = std::move(body)});
  }

  std::unique_ptr<MemoryStore> store;
  Traffic traffic;
  KeyHasher hasher;
  Engine engine;
  BlockList blocks;
  GrpcNode node;
  GrpcDoor grpc;
  Http2Door door;
  Instant now = kStart;
};

// A rule for a descriptor of one entry with that key.
inline Rule rule_for(std::string key, std::int64_t limit) {
  return {.id = key,
          .quota = *Quota::make({.algorithm = Algorithm::kFixedWindow,
                                 .limit = limit,
                                 .window = std::chrono::minutes(1)}),
          .descriptor = DescriptorMatch{.domain = "edge", .entries = {{.key = key}}}};
}

// A request about that entry.
inline rls::Request request_about(const std::string& key, const std::string& value) {
  rls::Request request;
  request.set_domain("edge");
  auto& entry = *request.add_descriptors()->add_entries();
  entry.set_key(key);
  entry.set_value(value);
  return request;
}

}  // namespace weir
