// Rows of the doors: the bytes of requests in, those of replies out, no sockets. The client's side
// of HTTP/2 is written before anything is counted.

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counted.h"
#include "engine/asks/error_bar.h"
#include "engine/engine.h"
#include "engine/tenants/tenant_table.h"
#include "observe/keys/recent_asks.h"
#include "proto/http2/http2_door.h"
#include "rls/rate_limit_call.h"
#include "server/grpc/grpc_door.h"
#include "server/http/check/check_routes.h"
#include "server/http/http_door.h"
#include "server/resp/resp_door.h"
#include "weir/memory_store.h"

namespace weir::counted {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'006'400'000'000);

std::vector<Rule> the_rule(const Quota& quota) {
  std::vector<Rule> rules(1);
  Rule& rule = rules.front();
  rule.id = "api";
  rule.quota = quota;
  rule.denial.blocks = {5min};
  rule.match.emplace();
  rule.key_parts = {{.property = KeyPart::Property::kClient}};
  rule.descriptor = DescriptorMatch{.domain = "api", .entries = {{.key = "remote_address"}}};
  return rules;
}

// 512 addresses, which can be clients.
std::vector<std::string> addresses(const char* network) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < kKeys; ++i) {
    found.push_back(network + std::to_string(i / 256) + "." + std::to_string(i % 256));
  }
  return found;
}
const char* const kAllowed = "10.20.";
const char* const kBlocked = "10.30.";

// Everything behind the doors, and the doors.
struct World : Http2Router {
  explicit World(
      const QuotaSpec& quota = {.limit = 1'000'000, .window = 1min},
      void (*change)(Rule&) = [](Rule&) {})
      : rules(rule_set(traffic, *Quota::make(quota), change)) {
    add_check_routes(http.core(), CheckRoutes::kAll);
    add_auth_route(http.core());
    for (const std::string& key : addresses(kBlocked)) {
      blocks.add({.rule = "api", .key = key, .since = kStart, .until = kStart + 1h}, kStart);
    }
  }

  static RuleSetPtr rule_set(Traffic& traffic, const Quota& quota, void (*change)(Rule&)) {
    auto numbered = the_rule(quota);
    change(numbered.front());
    number_rules(numbered, traffic.rules());
    return std::make_shared<const RuleSet>(std::move(numbered));
  }

  Http2Service& route(const Http2Stream& stream) override {
    return stream.path() == "/check" ? http.http2() : grpc.route(stream);
  }
  void stamp(Duration) override {}

  void remember() { engine.remember_in(recent_asks.core(0)); }
  // As on a node that gets more than its memory holds.
  void remember_few() {
    for (std::size_t i = 0; i < 2 * RecentAsks::kBytesMin / sizeof(RecentAsk); ++i) {
      recent_asks.core(0).add({.key = 0, .at = kStart});
    }
    remember();
  }

  std::unique_ptr<Store> store = make_memory_store({.max_keys = 16 * kKeys}, kStart);
  std::unique_ptr<Store> logs = make_memory_store(ErrorBar::kLogs, kStart);
  ErrorBar error_bar{*logs, Instant{}};
  Traffic traffic;
  KeyHasher hasher{HashSecret{}};
  Engine engine{*store, hasher, traffic.add_core()};
  RecentAsks recent_asks{RecentAsks::kBytesMin, 1, kStart};
  BlockList blocks{hasher};
  RuleSetPtr rules;
  HttpNode http_node{HttpNode::Options()};
  HttpDoor http{http_node, engine, blocks, rules};
  RespNode resp_node{{}, traffic};
  RespDoor resp{resp_node, engine, blocks, rules};
  GrpcNode grpc_node;
  GrpcDoor grpc{grpc_node, engine, blocks, rules, {}};
  Http2Door http2{*this};
};

// With a limit up to which windows are judged (engine/asks/error_bar.h).
struct LowWorld : World {
  LowWorld() : World({.limit = 1'000, .window = 1min}) {}
};

struct FixedWorld : World {
  FixedWorld() : World({Algorithm::kFixedWindow, 1'000'000, 24h}) {}
};
struct CalendarWorld : World {
  CalendarWorld() : World({Algorithm::kCalendarWindow, 1'000'000, 24h}) {}
};

// Each key has a limit in a table of 100,000.
struct TenantWorld : World {
  TenantWorld()
      : World({.limit = 10, .window = 1min}, [](Rule& rule) { rule.has_tenants = true; }) {
    const TenantTable none{HashSecret{}};
    TenantTable::Edits edits;
    const auto add = [&](const std::string& key) {
      edits.rows.push_back({.key = none.hash(key), .limit = 1'000'000});
    };
    for (const std::string& key : addresses(kAllowed)) add(key);
    for (int i = 0; i < 100'000; ++i) add("tenant" + std::to_string(i));
    std::ranges::sort(edits.rows, std::less(), &TenantTable::Row::key);
    engine.tenants = none.edited(std::move(edits)).table;
  }
};

// One connection, which gets so many requests in one read.
class Connection {
 public:
  Connection(std::shared_ptr<World> world, SessionFactory& door)
      : world_(std::move(world)), session_(door.make_session({}, kStart)) {}

  void say(std::string_view bytes) {
    now_ += 10us;
    while (!bytes.empty()) {
      const auto space = session_->input_space();
      const std::size_t size = std::min(space.size(), bytes.size());
      std::memcpy(space.data(), bytes.data(), size);
      bytes.remove_prefix(size);
      session_->received(size, now_);
    }
    session_->stamp(1us);
    const auto output = session_->output();
    if (output.find(expected_) == std::string_view::npos) unexpected(output.substr(0, 500));
    session_->sent(output.size(), now_);
  }
  // What each reply has somewhere. Looking for it is part of the row: it is near the beginning.
  void expect(std::string_view text) { expected_ = text; }

 private:
  std::shared_ptr<World> world_;
  std::unique_ptr<Session> session_;
  std::string_view expected_;
  Instant now_ = kStart;
};

template <typename TextOf>
std::vector<std::string> batches_of(const char* network, std::size_t pipeline, TextOf text_of) {
  std::vector<std::string> batches;
  const auto keys = addresses(network);
  for (std::size_t i = 0; i < kKeys; ++i) {
    if (i % pipeline == 0) batches.emplace_back();
    batches.back() += text_of(keys[i]);
  }
  return batches;
}

template <typename Made = World, typename TextOf>
Row row_of(std::string name, SessionFactory& (*door_of)(World&), const char* network,
           std::size_t pipeline, std::string_view expected, TextOf text_of) {
  return {std::move(name), [=] {
            std::shared_ptr<World> world = std::make_shared<Made>();
            SessionFactory& door = door_of(*world);
            auto connection = std::make_shared<Connection>(std::move(world), door);
            connection->expect(expected);
            return [connection, batches = batches_of(network, pipeline, text_of),
                    pipeline](std::size_t times) {
              for (std::size_t i = 0; i < times / pipeline; ++i) {
                connection->say(batches[i % batches.size()]);
              }
            };
          }};
}

// With so many requests before that no log of a key has to grow while it is counted.
Row warmed(Row row) {
  return {row.name, [make = std::move(row.make)] {
            Work work = make();
            work(36 * kKeys);
            return work;
          }};
}

SessionFactory& resp_door(World& world) { return world.resp; }
SessionFactory& http_door(World& world) { return world.http; }
SessionFactory& judging(World& world) {
  world.engine.error_bar = &world.error_bar;
  return world.resp;
}
template <SessionFactory& door(World&)>
SessionFactory& remembering_all(World& world) {
  world.remember();
  return door(world);
}
template <SessionFactory& door(World&)>
SessionFactory& remembering_few(World& world) {
  world.remember_few();
  return door(world);
}

std::string command(std::initializer_list<std::string_view> words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string_view word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n";
    text += word;
    text += "\r\n";
  }
  return text;
}
std::string throttle(const std::string& key) {
  return command({"CL.THROTTLE", key, "999999", "1000000", "60"});
}
// Two limits in turn, as the last numbers of keys go.
bool is_second(const std::string& key) { return key.back() % 2 == 1; }
std::string throttle_in_turn(const std::string& key) {
  return command({"CL.THROTTLE", key, "999999", is_second(key) ? "900000" : "1000000", "60"});
}
std::string rule_hit(const std::string& key) { return command({"WEIR.HIT", "api", key}); }

std::string check_body(const std::string& key) {
  return R"({"key":")" + key + R"(","limit":1000000,"window":60,"algorithm":"sliding_window"})";
}
std::string rule_body(const std::string& key) { return R"({"key":")" + key + R"(","rule":"api"})"; }
std::string posted(const std::string& body, const std::string& field = {}) {
  return "POST /check HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n" + field +
         "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}
std::string check(const std::string& key) { return posted(check_body(key)); }
std::string check_in_turn(const std::string& key) {
  if (!is_second(key)) return check(key);
  return posted(R"({"key":")" + key + R"(","limit":900000,"window":60})", "Accept: */*\r\n");
}
std::string check_by_rule(const std::string& key) { return posted(rule_body(key)); }
std::string auth(const std::string& key) {
  return "GET /auth HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Forwarded-Method: GET\r\n"
         "X-Forwarded-Host: example.com\r\nX-Forwarded-Uri: /api/v1/items\r\n"
         "X-Forwarded-For: " +
         key + "\r\n\r\n";
}

// ---- HTTP/2 ----

std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
  return bytes.append(payload);
}

using Fields = std::vector<std::pair<std::string, std::string>>;

// The bytes of a client whose requests have these fields: each has the next stream.
class Http2Client {
 public:
  explicit Http2Client(Fields fields) : fields_(std::move(fields)) {
    nghttp2_hd_deflate_new(&deflater_, 4096);
  }
  ~Http2Client() { nghttp2_hd_deflate_del(deflater_); }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  // The server may send as much as it likes.
  static std::string begin() {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, {}) +
           frame(8, 0, 0, std::string_view("\x3f\xff\0\0", 4));
  }
  std::string request(std::string_view body) {
    std::vector<nghttp2_nv> head;
    for (auto& [name, value] : fields_) {
      const auto bytes = [](std::string& text) {
        return reinterpret_cast<std::uint8_t*>(text.data());
      };
      head.push_back({bytes(name), bytes(value), name.size(), value.size(), 0});
    }
    std::string block(4096, '\0');
    const ssize_t size =
        nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<std::uint8_t*>(block.data()),
                              block.size(), head.data(), head.size());
    block.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    stream_ += 2;
    return frame(1, 4, stream_, block) + frame(0, 1, stream_, body);
  }

 private:
  Fields fields_;
  nghttp2_hd_deflater* deflater_ = nullptr;
  std::uint32_t stream_ = static_cast<std::uint32_t>(-1);
};

// All that is said while the row lasts is there from the beginning: no stream comes twice.
template <typename BodyOf>
Row http2_row(std::string name, const char* path, Fields fields, const char* network,
              std::size_t streams, std::string_view expected, BodyOf body_of) {
  return {std::move(name), [=] {
            auto world = std::make_shared<World>();
            SessionFactory& door = world->http2;
            auto connection = std::make_shared<Connection>(std::move(world), door);
            Fields all = {{":method", "POST"},
                          {":scheme", "http"},
                          {":path", path},
                          {":authority", "127.0.0.1:8080"}};
            all.insert(all.end(), fields.begin(), fields.end());
            Http2Client client(std::move(all));
            const auto keys = addresses(network);
            constexpr std::size_t kTimes = 6 * kKeys;
            auto said = std::make_shared<std::vector<std::string>>();
            for (std::size_t i = 0; i < kTimes; ++i) {
              if (i % streams == 0) said->emplace_back();
              said->back() += client.request(body_of(keys[i % kKeys]));
            }
            connection->say(Http2Client::begin());
            connection->expect(expected);
            return [=, next = std::size_t{0}](std::size_t times) mutable {
              for (std::size_t i = 0; i < times / streams; ++i) connection->say((*said)[next++]);
            };
          }};
}

std::string rate_limit_message(const std::string& key) {
  rls::Request request;
  request.set_domain("api");
  auto* const entry = request.add_descriptors()->add_entries();
  entry->set_key("remote_address");
  entry->set_value(key);
  const std::string message = request.SerializeAsString();
  return std::string(4, '\0') + static_cast<char>(message.size()) + message;
}

}  // namespace

std::vector<Row> door_rows() {
  const Fields grpc = {{"content-type", "application/grpc"}, {"te", "trailers"}};
  const Fields json = {{"content-type", "application/json"}};
  const char* const service = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  const char* const yes = R"("allowed":true)";
  const char* const no = R"("allowed":false)";
  return {
      row_of("CL.THROTTLE x 32", resp_door, kAllowed, 32, "*5\r\n:0", throttle),
      row_of("CL.THROTTLE x 32, remembering few keys", remembering_few<resp_door>, kAllowed, 32,
             "*5\r\n:0", throttle),
      row_of("CL.THROTTLE x 32, two limits in turn", resp_door, kAllowed, 32, "*5\r\n:0",
             throttle_in_turn),
      row_of("WEIR.HIT x 32", resp_door, kAllowed, 32, ":0", rule_hit),
      row_of("WEIR.HIT x 32, remembering all keys", remembering_all<resp_door>, kAllowed, 32, ":0",
             rule_hit),
      row_of("WEIR.HIT x 32, remembering few keys", remembering_few<resp_door>, kAllowed, 32, ":0",
             rule_hit),
      warmed(
          row_of<LowWorld>("WEIR.HIT x 32, a low limit", resp_door, kAllowed, 32, ":0", rule_hit)),
      warmed(row_of<LowWorld>("WEIR.HIT x 32, a low limit, judged", judging, kAllowed, 32, ":0",
                              rule_hit)),
      row_of<FixedWorld>("WEIR.HIT x 32, fixed_window", resp_door, kAllowed, 32, ":0", rule_hit),
      row_of<CalendarWorld>("WEIR.HIT x 32, a calendar's day", resp_door, kAllowed, 32, ":0",
                            rule_hit),
      row_of<TenantWorld>("WEIR.HIT x 32, a tenant's limit", resp_door, kAllowed, 32, ":0",
                          rule_hit),
      row_of("WEIR.HIT x 32, blocked", resp_door, kBlocked, 32, ":1", rule_hit),
      row_of("POST /check x 16", http_door, kAllowed, 16, yes, check),
      row_of("POST /check x 16, remembering few keys", remembering_few<http_door>, kAllowed, 16,
             yes, check),
      row_of("POST /check, one at a time", http_door, kAllowed, 1, yes, check),
      row_of("POST /check x 16, two clients in turn", http_door, kAllowed, 16, yes, check_in_turn),
      row_of("POST /check, one at a time, two clients in turn", http_door, kAllowed, 1, yes,
             check_in_turn),
      row_of("POST /check by rule x 16", http_door, kAllowed, 16, yes, check_by_rule),
      row_of("POST /check by rule x 16, blocked", http_door, kBlocked, 16, no, check_by_rule),
      row_of("GET /auth x 16", http_door, kAllowed, 16, "200 OK", auth),
      row_of("GET /auth x 16, blocked", http_door, kBlocked, 16, "429 T", auth),
      http2_row("POST /check by HTTP/2, 16 streams", "/check", json, kAllowed, 16, yes, check_body),
      http2_row("ShouldRateLimit, 32 streams", service, grpc, kAllowed, 32, "\x08\x01",
                rate_limit_message),
      http2_row("ShouldRateLimit, 32 streams, blocked", service, grpc, kBlocked, 32, "\x08\x02",
                rate_limit_message),
  };
}

}  // namespace weir::counted
