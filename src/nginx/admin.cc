#include "nginx/admin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/name_value.h"
#include "proto/http/problem.h"
#include "proto/json_writer.h"
#include "server/http/admin/admin_routes.h"
#include "server/http/check/check_routes.h"
#include "server/http/console/console_routes.h"
#include "server/http/query.h"
#include "weir/version.h"

namespace weir::nginx {

namespace {

constexpr std::array<std::string_view, 3> kForAnybody = {"/metrics", "/health", "/openapi.json"};
constexpr std::array<std::string_view, 3> kForThisMachine = {"/", "/v1/explain", "/v1/reset"};
constexpr std::string_view kAdminPages = "/admin/";

// The entries of "/".
constexpr std::array<NameValue, 5> kListed = {{{"health", "/health"},
                                               {"metrics", "/metrics"},
                                               {"rules", "/admin/rules"},
                                               {"blocks", "/admin/blocks"},
                                               {"openapi", "/openapi.json"}}};

std::string_view path_of(const Admin::Request& request) {
  return request.target.substr(0, request.target.find('?'));
}

bool is_index(const Admin::Request& request) {
  return path_of(request) == "/" && (request.method == "GET" || request.method == "HEAD");
}

// The server's index names paths that are not here, and lacks the location's.
std::string index_of(std::string_view place) {
  JsonWriter json;
  json.begin_object().field("service", "weir");
  for (const auto& [name, path] : kListed) json.field(name, std::string(place).append(path));
  json.end_object();
  return json.text();
}

// nullopt if the client may go on.
std::optional<Problem> refusal(const Admin::Request& request) {
  const auto path = path_of(request);
  if (std::ranges::find(kForAnybody, path) != kForAnybody.end()) return std::nullopt;
  const bool is_page = path.starts_with(kAdminPages) ||
                       std::ranges::find(kForThisMachine, path) != kForThisMachine.end();
  if (!is_page) return http_problem(404, "There is no such page here.");
  const bool is_here = !request.client || request.client->is_loopback();
  if (is_here) return std::nullopt;
  return http_problem(403, "This page is for clients on the machine of nginx.");
}

}  // namespace

Admin::Admin(const World& world, Instant now)
    : judge_(world.judge),
      board_(world.zone.rules(), world.gateway.version()),
      rules_({.gateway = world.gateway,
              .ids = world.ids,
              .board = board_,
              .use = [this](const std::vector<RuleSetPtr>& sets) { use_rules(sets); },
              .say = world.say},
             now),
      reloads_(world.zone.started()),
      view_{.info = {.version = std::string(kVersion),
                     .started = world.zone.started(),
                     .threads = static_cast<int>(world.workers),
                     .max_keys = judge_.store().stats().capacity},
            .traffic = judge_.traffic(),
            .reloads = reloads_,
            .figures =
                [&judge = judge_, fleet = world.fleet] {
                  NodeFigures figures{.store = judge.store().stats()};
                  if (fleet != nullptr) figures.shared = fleet->figures();
                  return figures;
                }},
      core_(node_, judge_.engine(), judge_.blocks().list(), world.gateway.sets().front()) {
  add_node_pages(core_, view_);
  add_check_routes(core_, CheckRoutes::kResets);
  add_explain_page(core_, nullptr);
  add_block_page(core_, {});
  add_busiest_page(core_, view_, nullptr);
  add_rule_pages(core_, rules_, nullptr);
  add_event_page(core_, events_);
  add_denial_page(core_, view_.traffic);
  add_openapi_page(core_);
  add_index_route(core_, {});  // for methods to which answer() does not show its own index
  judge_.before_each([this](Instant then) { rules_.catch_up(then); });
}

Admin::~Admin() {
  judge_.before_each([](Instant) {});
}

void Admin::use_rules(const std::vector<RuleSetPtr>& sets) {
  judge_.use_rules(sets);
  core_.use_rules(sets.front());
}

void Admin::answer(const Request& request, ReplyLine& line, Instant now) {
  judge_.blocks().learn(now);
  rules_.catch_up(now);
  const auto head = http1::head_of(request.method, request.target, request.fields);
  Exchange exchange(line, AfterReply::kStay, now, head, request.body);
  exchange.peer = request.client;
  exchange.headers = request.fields;
  if (const auto problem = refusal(request)) {
    core_.reply_problem(exchange, *problem);
  } else if (is_index(request)) {
    core_.reply(exchange, {.body = index_of(request.place)});
  } else {
    static_cast<void>(core_.answer(exchange));  // always true: no request waits for another
  }
}

}  // namespace weir::nginx
