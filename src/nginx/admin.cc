#include "nginx/admin.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/name_value.h"
#include "base/waker.h"
#include "proto/json_writer.h"
#include "server/http/problem.h"
#include "server/http/query.h"
#include "weir/version.h"

namespace weir::nginx {

namespace {

constexpr int kRoundsMax = 1'000'000;  // of a session that always has more to say

constexpr Duration kWait = std::chrono::milliseconds(5);
constexpr int kWaitsMax = 200;

constexpr std::array<std::string_view, 3> kForAnybody = {"/metrics", "/health", "/openapi.json"};
constexpr std::array<std::string_view, 3> kForThisMachine = {"/", "/v1/explain", "/v1/reset"};
constexpr std::string_view kAdminPages = "/admin/";

// What "/" names.
constexpr std::array<NameValue, 5> kListed = {{{"health", "/health"},
                                               {"metrics", "/metrics"},
                                               {"rules", "/admin/rules"},
                                               {"blocks", "/admin/blocks"},
                                               {"openapi", "/openapi.json"}}};

// Notes that the session wants to go on.
class Flag final : public Waker {
 public:
  void wake() noexcept override { is_up_ = true; }
  bool take() { return std::exchange(is_up_, false); }

 private:
  bool is_up_ = false;
};

std::string refusal(int status, std::string_view detail) {
  const std::string body = to_json(http_problem(status, detail));
  return "HTTP/1.1 " + std::to_string(status) +
         " \r\nContent-Type: " + std::string(kProblemContentType) + "\r\n\r\n" + body;
}

std::string_view path_of(const Admin::Request& request) {
  return request.target.substr(0, request.target.find('?'));
}

bool is_index(const Admin::Request& request) {
  return path_of(request) == "/" && (request.method == "GET" || request.method == "HEAD");
}

// That of a server names paths which are not here, without the location's.
std::string index_of(std::string_view place) {
  JsonWriter json;
  json.begin_object().key("service").string("weir");
  for (const auto& [name, path] : kListed) {
    json.key(name).string(as_utf8(std::string(place).append(path)));
  }
  json.end_object();
  return "HTTP/1.1 200 \r\nContent-Type: application/json\r\n\r\n" + std::string(json.text());
}

// Nothing if the client may go on.
std::optional<std::string> refuse(const Admin::Request& request) {
  const auto path = path_of(request);
  if (std::ranges::find(kForAnybody, path) != kForAnybody.end()) return std::nullopt;
  const bool is_page = path.starts_with(kAdminPages) ||
                       std::ranges::find(kForThisMachine, path) != kForThisMachine.end();
  if (!is_page) return refusal(404, "There is no such page here.");
  const bool is_here = !request.client || request.client->is_loopback();
  if (is_here) return std::nullopt;
  return refusal(403, "This page is for clients on the machine of nginx.");
}

// Sends the bytes, and collects all that the session has to say. What a Redis has to answer first
// is waited for: that is as long as a rule's deadline, and seldom.
std::string converse(Session& session, std::string_view bytes, FleetMember* fleet, Instant now) {
  Flag flag;
  session.attach(flag);
  std::string reply;
  int waits = 0;
  for (int round = 0; round < kRoundsMax; ++round) {
    const auto room = session.input_space();
    const std::size_t size = std::min(room.size(), bytes.size());
    if (size > 0) {
      std::memcpy(room.data(), bytes.data(), size);
      bytes.remove_prefix(size);
      session.received(size, now);
    } else if (flag.take()) {
      session.woken(now);
    } else if (session.output().empty()) {
      if (fleet == nullptr || !reply.empty() || waits++ == kWaitsMax) break;
      fleet->turn(kWait);
    }
    session.stamp(Duration::zero());
    const std::string_view said = session.output();
    reply.append(said);
    session.sent(said.size(), now);
  }
  return reply;
}

HttpNode::Options options(ChangedRules& rules, const Judge& judge, const FleetMember* fleet,
                          std::size_t workers, Instant started) {
  return {.info = {.version = std::string(kVersion),
                   .started = started,
                   .threads = static_cast<int>(workers),
                   .max_keys = judge.store().stats().capacity},
          .access = {.exposure = Exposure::kLoopback, .admin_token = {}},
          .figures =
              [&judge, fleet] {
                NodeFigures figures{.store = judge.store().stats()};
                if (fleet != nullptr) figures.shared = fleet->figures();
                return figures;
              },
          .rule_desk = &rules};
}

}  // namespace

Admin::Admin(const World& world, Instant now)
    : judge_(world.judge),
      fleet_(world.fleet),
      board_(world.zone.rules(), world.gateway.version()),
      rules_({.gateway = world.gateway,
              .ids = world.ids,
              .board = board_,
              .use = [this](const std::vector<RuleSetPtr>& sets) { use_rules(sets); },
              .say = world.say},
             now),
      node_(options(rules_, judge_, fleet_, world.workers, world.zone.started()), judge_.traffic()),
      door_(node_, judge_.engine(), judge_.blocks().list(), world.gateway.sets().front()) {
  judge_.before_each([this](Instant then) { rules_.catch_up(then); });
}

Admin::~Admin() {
  judge_.before_each([](Instant) {});
}

void Admin::use_rules(const std::vector<RuleSetPtr>& sets) {
  judge_.use_rules(sets);
  door_.use_rules(sets.front());
}

std::string Admin::answer(const Request& request, Instant now) {
  if (auto refused = refuse(request)) return *std::move(refused);
  if (is_index(request)) return index_of(request.place);
  std::string bytes;
  bytes.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  bytes.append(request.fields);
  if (!request.body.empty()) {
    bytes.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  bytes.append("Connection: close\r\n\r\n").append(request.body);
  judge_.blocks().learn(now);
  rules_.catch_up(now);
  const auto session = door_.make_session({.address = request.client}, now);
  std::string reply = converse(*session, bytes, fleet_, now);
  judge_.blocks().tell(now);
  return reply;
}

}  // namespace weir::nginx
