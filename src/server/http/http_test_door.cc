#include "server/http/http_test_door.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "rls/rate_limit_service.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/check/check_routes.h"

namespace weir {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// Counts up.
ConsoleSessions::Chance chance() {
  return [next = std::size_t{0}]() mutable {
    std::array<std::byte, 32> bytes{};
    bytes[31] = static_cast<std::byte>(next++);
    return bytes;
  };
}

NodeFigures figures_of(TestDoor& door) {
  return {.store = {.capacity = 1024, .evictions = 5, .bytes = 16'384, .log_entries = 7},
          .listeners = {.open = 8,
                        .max = 99,
                        .accepted = 9,
                        .refused = 4,
                        .stalled = 3,
                        .failed_handshakes = 2,
                        .refused_headers = 1,
                        .buffered = 13,
                        .buffered_max = 14,
                        .shed = 10,
                        .flooded = 12},
          .resp = {6, 2, 11},
          .logins = {.failed = 12, .refused = 13},
          .events = door.events.figures(),
          .webhook = {.delivered = 15, .failed = 16, .dropped = 17},
          .console = {.listening = door.live.consoles(),
                      .dropped = door.live.dropped(),
                      .sessions = door.node.sessions().size()}};
}

void add_routes(TestDoor& door, const TestDoor::Options& options) {
  HttpCore& core = door.door.core();
  add_check_routes(core, CheckRoutes::kAll);
  add_auth_route(core);
  add_json_route(core, *door.rls);
  add_node_pages(core, door.view);
  add_explain_page(core, options.switches);
  add_block_page(core, {});
  add_busiest_page(core, door.view, &door.fleet_keys);
  add_rule_pages(core, door.desk, options.switches);
  add_tenant_pages(core, door.tenants);
  add_event_page(core, door.events);
  add_denial_page(core, door.traffic);
  add_openapi_page(core);
  add_console_routes(core, options.console,
                     {.view = door.view, .feed = door.live, .consoles = door.consoles});
  add_index_route(core, options.console);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

CoreTraffic& core_of(Traffic& traffic, KeyTexts texts) {
  if (texts == KeyTexts::kShown) traffic.keep_key_texts();
  return traffic.add_core();
}

RuleSetPtr compile(TestDoor::Options& options, RuleCounts& counts) {
  number_rules(options.rules, counts);
  return std::make_shared<const RuleSet>(std::move(options.rules), std::move(options.sources));
}

int number_in(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void SummingStore::decide(Batch& batch, Instant) noexcept {
  ++batches;
  batch.error = broken ? StoreError::kUnavailable : StoreError::kNone;
  Operation operation = batch.operation;
  if (operation == Operation::kSpendAll && !all_fit(batch)) operation = Operation::kLook;
  for (std::size_t i = 0; i < batch.charges.size() && !broken; ++i) {
    batch.decisions[i] = decide_charge(batch.charges[i], operation);
  }
  batch.on_done(batch);
}

Decision SummingStore::decide_one(Operation operation, Charge charge, Instant) noexcept {
  ++batches;
  return decide_charge(charge, operation);
}

bool SummingStore::all_fit(const Batch& batch) {
  return std::all_of(batch.charges.begin(), batch.charges.end(), [&](const Charge& charge) {
    return decide_charge(charge, Operation::kLook).allowed();
  });
}

Decision SummingStore::decide_charge(const Charge& charge, Operation operation) {
  std::int64_t& spent = spent_[charge.key.low];
  if (operation == Operation::kReset) spent = 0;
  const std::int64_t capacity = charge.quota->capacity();
  if (operation == Operation::kCharge) {
    spent = std::min(spent + charge.cost, charge.quota->debt_max());
    return decide_charge({.key = charge.key, .quota = charge.quota, .cost = 0}, Operation::kLook);
  }
  if (operation == Operation::kDrain && spent + charge.cost > capacity) spent = capacity;
  const bool fits = operation == Operation::kReset || spent + charge.cost <= capacity;
  if (fits && spends(operation)) spent = std::max<std::int64_t>(0, spent + charge.cost);

  Decision decision{.limit = capacity, .remaining = std::max<std::int64_t>(0, capacity - spent)};
  if (spent > 0) decision.reset_after = charge.quota->window();
  decision.more_after = decision.reset_after;
  if (fits) return decision;
  decision.verdict = charge.cost > capacity ? Verdict::kNever : Verdict::kDenied;
  if (decision.verdict == Verdict::kDenied) decision.retry_after = charge.quota->window();
  return decision;
}

TestReply take_reply(std::string_view& bytes, bool expects_body) {
  TestReply reply;
  const auto head_end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || head_end == std::string_view::npos) return {};
  std::string_view head = bytes.substr(0, head_end + 2);
  bytes.remove_prefix(head_end + 4);
  reply.status = number_in(head.substr(9));
  head.remove_prefix(head.find(kLineEnd) + 2);
  while (!head.empty()) {
    const auto line = head.substr(0, head.find(kLineEnd));
    head.remove_prefix(line.size() + 2);
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) return {};
    const auto added = reply.fields.emplace(lower(line.substr(0, colon)), line.substr(colon + 2));
    if (!added.second) return {};  // said twice
  }
  if (reply.status == 100 || has_no_body(reply.status) || !expects_body) return reply;
  const int length = number_in(reply.fields["content-length"]);
  if (length < 0 || bytes.size() < static_cast<std::size_t>(length)) return {};
  reply.body = bytes.substr(0, static_cast<std::size_t>(length));
  bytes.remove_prefix(reply.body.size());
  return reply;
}

std::string get(std::string_view path, std::string_view fields) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(fields) +
         "\r\n";
}

std::string post(std::string_view path, std::string_view body, std::string_view fields) {
  return request("POST", path, body, fields);
}

std::string request(std::string_view method, std::string_view path, std::string_view body,
                    std::string_view fields) {
  return std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
         std::string(fields) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

TestDoor::TestDoor() : TestDoor(Options{}) {}
TestDoor::~TestDoor() = default;

TestDoor::TestDoor(Options options)
    : fleet_keys(options.key_texts),
      hasher(HashSecret{}),
      engine(options.store != nullptr ? *options.store : store, hasher,
             core_of(traffic, options.key_texts)),
      blocks(hasher),
      view{.info = {.version = "1.2.3",
                    .started = kStart,
                    .threads = 2,
                    .max_keys = 1024,
                    .node = "here"},
           .traffic = traffic,
           .reloads = reloads,
           .figures = [this] { return figures_of(*this); },
           .switches = options.switches,
           .unusual_rules = &unusual,
           .error_bar = &error_bar},
      node({.access = options.access,
            .trusted_proxies = options.trusted_proxies,
            .headers = options.headers,
            .logins = &logins,
            .chance = chance()}),
      rules(compile(options, traffic.rules())),
      rls(std::make_unique<rls::RateLimitService>(engine, blocks, rules, RlsOptions{})),
      door(node, engine, blocks, rules) {
  engine.holds = &holds;
  add_routes(*this, options);
}

void TestDoor::use_rules(const RuleSetPtr& others) {
  door.use_rules(others);
  rls->use_rules(others);
}

std::string TestDoor::converse(std::string_view request) {
  const auto session = door.make_session(peer, now);
  feed(*session, request, now);
  return drink(*session, now);
}

TestReply TestDoor::ask(std::string_view request) {
  const std::string output = converse(request);
  std::string_view rest = output;
  TestReply reply = take_reply(rest, !request.starts_with("HEAD"));
  return rest.empty() ? reply : TestReply{};
}

std::string drink(Session& session, Instant now) {
  std::string all;
  while (!session.output().empty()) {
    all += session.output();
    session.sent(session.output().size(), now);
  }
  return all;
}

}  // namespace weir
