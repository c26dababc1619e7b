// ngx_http_weir_module: the parts that nginx looks for when it loads the module, and the functions
// that it calls at start and end.

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nginx/abi/nginx_api.h"
#include "nginx/admin.h"
#include "nginx/fleet_member.h"
#include "nginx/judge.h"
#include "nginx/module/decided.h"
#include "nginx/module/request.h"
#include "nginx/module/settings.h"
#include "nginx/module/worker_loop.h"
#include "nginx/zone/zone.h"
#include "observe/traffic.h"

// nginx refuses a module of another signature or version when it loads it; the build does so first.
static_assert(std::string_view(NGX_MODULE_SIGNATURE) == WEIR_NGINX_SIGNATURE,
              "the headers of src/nginx/abi describe another nginx than the one installed");
static_assert(std::string_view(NGINX_VERSION) == WEIR_NGINX_VERSION,
              "nginx-dev and nginx are of different versions");

namespace weir::nginx {
namespace {

// A new worker waits so long for its Redis before it takes requests. Without Redis it would decide
// them alone.
constexpr Duration kJoinMax = std::chrono::milliseconds(200);

// Each uses those before it. The second and the last: only with a Redis.
std::unique_ptr<Judge> the_judge;
std::unique_ptr<FleetMember> the_member;
std::unique_ptr<Admin> the_admin;
std::unique_ptr<WorkerLoop> the_loop;

// The handlers of the phase, with a place for one more at the end. Empty if there is no memory.
std::span<ngx_http_handler_pt> one_more(ngx_conf_t* conf, ngx_http_phases phase) {
  auto* const core = static_cast<ngx_http_core_main_conf_t*>(
      ngx_http_conf_get_module_main_conf(conf, ngx_http_core_module));
  ngx_array_t& handlers = core->phases[phase].handlers;
  if (ngx_array_push(&handlers) == nullptr) return {};
  return {static_cast<ngx_http_handler_pt*>(handlers.elts), handlers.nelts};
}

// Other modules have pushed their handlers before this one, and the last one pushed runs first.
// trim_headers() is to run first. handle_request() goes to the front of the array: it runs after
// realip, which finds the client, and limit_req, which may have denied the request.
ngx_int_t add_handlers_of_requests(ngx_conf_t* conf) {
  const auto readers = one_more(conf, NGX_HTTP_POST_READ_PHASE);
  const auto limiters = one_more(conf, NGX_HTTP_PREACCESS_PHASE);
  if (readers.empty() || limiters.empty()) return NGX_ERROR;
  readers.back() = trim_headers;
  limiters.back() = handle_request;
  std::ranges::rotate(limiters, limiters.end() - 1);
  return NGX_OK;
}

// A head passes the last module's filter first: it sees the status before others make 304 or 206 of
// 200. A request may bring a worker new rules that need it.
void add_filter() {
  count_responses_before(ngx_http_top_header_filter);
  ngx_http_top_header_filter = count_response;
}

ngx_int_t add_handlers(ngx_conf_t* conf) noexcept {
  add_filter();
  return add_handlers_of_requests(conf);
}

// Its filter runs after that of the module which reads bodies from disk into memory.
ngx_int_t add_body_filter(ngx_conf_t*) noexcept {
  read_responses_before(ngx_http_top_body_filter);
  ngx_http_top_body_filter = read_response;
  return NGX_OK;
}

const MainSettings* main_settings(ngx_cycle_t* cycle) {
  return static_cast<MainSettings*>(
      ngx_http_cycle_get_module_main_conf(cycle, ngx_http_weir_module));
}

std::size_t workers_in(ngx_cycle_t* cycle) {
  const auto* const core =
      reinterpret_cast<ngx_core_conf_t*>(ngx_get_conf(cycle->conf_ctx, ngx_core_module));
  return static_cast<std::size_t>(std::max<ngx_int_t>(core->worker_processes, 1));
}

void say(ngx_log_t* log, FleetListener::Severity severity, const std::string& sentence) {
  const ngx_uint_t level =
      severity == FleetListener::Severity::kNotice ? NGX_LOG_NOTICE : NGX_LOG_WARN;
  ngx_log_error(level, log, 0, "weir: redis: %s", sentence.c_str());
}

// False if nginx has no room for it.
bool join_fleet(const Gateway& gateway, const Zone& zone, ngx_cycle_t* cycle) {
  if (!gateway.fleet()) return true;
  const FleetMember::World world{
      .judge = *the_judge,
      .board = zone.board(),
      .owed = zone.owed(),
      .own_secret = zone.secret(),
      .clock = zone_clock(),
      .workers = workers_in(cycle),
      .process = static_cast<std::int32_t>(ngx_pid),
      .say = [log = cycle->log](FleetListener::Severity severity, const std::string& sentence) {
        say(log, severity, sentence);
      }};
  the_member = std::make_unique<FleetMember>(*gateway.fleet(), gateway.trust(), world);
  the_member->join(kJoinMax);
  the_loop = std::make_unique<WorkerLoop>(*the_member, *the_judge, cycle);
  return the_loop->begin();
}

// Only in workers, not in the processes that manage caches.
ngx_int_t begin_worker(ngx_cycle_t* cycle) noexcept {
  if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) return NGX_OK;
  if (cycle->conf_ctx[ngx_http_module.index] == nullptr) return NGX_OK;
  const MainSettings* const settings = main_settings(cycle);
  if (settings == nullptr || settings->gateway == nullptr || settings->zone == nullptr) {
    return NGX_OK;
  }
  try {
    auto* const figures = static_cast<CoreTraffic*>(settings->figures->data);
    const Zone zone(static_cast<std::byte*>(settings->zone->data));
    the_judge = std::make_unique<Judge>(*settings->gateway, zone, std::span(figures, place_count()),
                                        rule_ids(), zone_clock());
    if (!join_fleet(*settings->gateway, zone, cycle)) return NGX_ERROR;
    the_admin = std::make_unique<Admin>(
        Admin::World{.judge = *the_judge,
                     .gateway = *settings->gateway,
                     .zone = zone,
                     .ids = rule_ids(),
                     .fleet = the_member.get(),
                     .workers = workers_in(cycle),
                     .say =
                         [log = cycle->log](const std::string& line) {
                           ngx_log_error(NGX_LOG_NOTICE, log, 0, "weir: %s", line.c_str());
                         }},
        zone_clock().now());
    use_judge(the_judge.get(), the_loop.get());
    use_admin(the_admin.get());
    return NGX_OK;
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_EMERG, cycle->log, 0, "weir: a worker cannot start: %s", error.what());
    return NGX_ERROR;
  }
}

void end_worker(ngx_cycle_t*) noexcept {
  use_admin(nullptr);
  use_judge(nullptr, nullptr);
  the_loop.reset();
  the_member.reset();  // it may give up asks of a page
  the_admin.reset();
  the_judge.reset();
}

ngx_http_module_t hooks = {
    add_variables,         // before the configuration is read
    add_handlers,          // after it
    make_main_settings,    //
    nullptr,               // nothing to do when all is read
    nullptr,               // no settings of servers
    nullptr,               //
    make_place_settings,   //
    merge_place_settings,  //
};

ngx_http_module_t body_hooks = {
    nullptr, add_body_filter, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace weir::nginx

extern "C" {

ngx_module_t ngx_http_weir_module = {
    NGX_MODULE_V1,
    &weir::nginx::hooks,
    weir::nginx::kCommands,
    NGX_HTTP_MODULE,
    nullptr,                    // init_master, which nginx never calls
    nullptr,                    // init_module
    weir::nginx::begin_worker,  // init_process
    nullptr,                    // init_thread
    nullptr,                    // exit_thread
    weir::nginx::end_worker,    // exit_process
    nullptr,                    // exit_master
    NGX_MODULE_V1_PADDING,
};

ngx_module_t ngx_http_weir_body_filter_module = {
    NGX_MODULE_V1, &weir::nginx::body_hooks,
    nullptr,       NGX_HTTP_MODULE,
    nullptr,       nullptr,
    nullptr,       nullptr,
    nullptr,       nullptr,
    nullptr,       NGX_MODULE_V1_PADDING,
};

// The names that nginx looks for in a dynamic module; exports.map exports nothing else. A module in
// the order goes before those that follow it there; the other module goes behind all.
ngx_module_t* ngx_modules[] = {&ngx_http_weir_module, &ngx_http_weir_body_filter_module, nullptr};
char* ngx_module_names[] = {const_cast<char*>("ngx_http_weir_module"),
                            const_cast<char*>("ngx_http_weir_body_filter_module"), nullptr};
extern char* ngx_module_order[];
char* ngx_module_order[] = {const_cast<char*>("ngx_http_weir_body_filter_module"),
                            const_cast<char*>("ngx_http_copy_filter_module"), nullptr};
}
