#include "nginx/module/settings.h"

#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nginx/module/request.h"
#include "nginx/zone/concurrency.h"
#include "nginx/zone/zone.h"
#include "observe/traffic.h"

namespace weir::nginx {
namespace {

constexpr ngx_uint_t kStatusUnlessSaid = 429;
constexpr ngx_uint_t kStatusMin = 400;
constexpr ngx_uint_t kStatusMax = 599;

// Places for workers: serving ones, those that a reload replaces, and some to spare.
constexpr std::size_t kPlacesACore = 2;
constexpr std::size_t kPlacesSpare = 4;

constexpr std::string_view kFiguresSuffix = ":figures";

char* const kOk = NGX_CONF_OK;
char* const kFailed = reinterpret_cast<char*>(NGX_CONF_ERROR);

char* refuse(ngx_conf_t* conf, const std::string& sentence) {
  ngx_conf_log_error(NGX_LOG_EMERG, conf, 0, "%s", sentence.c_str());
  return kFailed;
}

// Stops exceptions: nginx is C.
template <typename Body>
char* guarded(ngx_conf_t* conf, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    ngx_conf_log_error(NGX_LOG_EMERG, conf, 0, "weir: %s", error.what());
    return kFailed;
  }
}

std::span<ngx_str_t> words(ngx_conf_t* conf) {
  return {static_cast<ngx_str_t*>(conf->args->elts), conf->args->nelts};
}

// All memory that the zone's slab allocator can give, from the beginning of a page on.
std::span<std::byte> take_all(ngx_shm_zone_t* zone) {
  auto* const pool = reinterpret_cast<ngx_slab_pool_t*>(zone->shm.addr);
  const std::size_t size = pool->pfree * ngx_pagesize;
  pool->data = ngx_slab_alloc(pool, size);
  return {static_cast<std::byte*>(pool->data), pool->data == nullptr ? 0 : size};
}

std::size_t size_taken(const ngx_shm_zone_t* zone) {
  const auto* const pool = reinterpret_cast<const ngx_slab_pool_t*>(zone->shm.addr);
  const auto* const begin = static_cast<const u_char*>(pool->data);
  return static_cast<std::size_t>(pool->end - begin) / ngx_pagesize * ngx_pagesize;
}

// `old`: the data of the same zone before a reload.
ngx_int_t begin_zone(ngx_shm_zone_t* zone, void* old) noexcept {
  if (old == nullptr) {
    const auto memory = take_all(zone);
    if (memory.size() < Zone::kBytesMin) {
      ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "weir_zone \"%V\" has no room; make it larger",
                    &zone->shm.name);
      return NGX_ERROR;
    }
    Zone::format(memory, zone_clock().now());
    zone->data = memory.data();
    return NGX_OK;
  }
  zone->data = old;
  const std::string fault = Zone(static_cast<std::byte*>(old)).fault(size_taken(zone));
  if (fault.empty()) return NGX_OK;
  ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0,
                "weir_zone \"%V\" cannot be used: %s; restart nginx, or give the zone another name",
                &zone->shm.name, fault.c_str());
  return NGX_ERROR;
}

ngx_int_t begin_figures(ngx_shm_zone_t* zone, void* old) noexcept {
  zone->data = old != nullptr ? old : take_all(zone).data();
  return zone->data != nullptr ? NGX_OK : NGX_ERROR;
}

char* read_zone(ngx_conf_t* conf, MainSettings& settings) {
  const auto word = words(conf);
  const ssize_t size = ngx_parse_size(&word[2]);
  if (word[1].len == 0) return refuse(conf, "weir_zone needs a name, such as weir");
  if (settings.zone != nullptr) return refuse(conf, "\"weir_zone\" is there already; it holds all");
  if (size == NGX_ERROR) return refuse(conf, "the size of weir_zone must be like 16m");
  if (static_cast<std::size_t>(size) < 2 * Zone::kBytesMin) {
    return refuse(conf, "weir_zone is too small; it needs at least " +
                            std::to_string(2 * Zone::kBytesMin / 1024) +
                            "k, and 36 bytes for each key beyond some thousands");
  }
  settings.zone =
      ngx_shared_memory_add(conf, &word[1], static_cast<std::size_t>(size), &ngx_http_weir_module);
  const auto name = std::string(view_of(word[1])) + std::string(kFiguresSuffix);
  ngx_str_t figures_name = copy_of(name, conf->pool);
  // A slab needs a part of its memory: less than a hundredth, and some pages.
  const std::size_t figures = place_count() * sizeof(CoreTraffic);
  settings.figures = ngx_shared_memory_add(
      conf, &figures_name, figures + figures / 100 + 64 * ngx_pagesize, &ngx_http_weir_module);
  if (settings.zone == nullptr || settings.figures == nullptr) return kFailed;
  zone_clock();  // made before there are workers
  settings.zone->init = begin_zone;
  settings.figures->init = begin_figures;
  return kOk;
}

char* set_zone(ngx_conf_t* conf, ngx_command_t*, void* settings) noexcept {
  return guarded(conf, [&] { return read_zone(conf, *static_cast<MainSettings*>(settings)); });
}

void delete_gateway(void* gateway) { delete static_cast<Gateway*>(gateway); }

char* read_config(ngx_conf_t* conf, MainSettings& settings) {
  if (settings.gateway != nullptr) return refuse(conf, "\"weir_config\" is there already");
  ngx_str_t path = words(conf)[1];
  if (ngx_conf_full_name(conf->cycle, &path, 1) != NGX_OK) return kFailed;
  auto loaded = Gateway::load(std::string(view_of(path)), rule_ids());
  if (!loaded) {
    for (const std::string& mistake : loaded.error()) refuse(conf, mistake);
    return kFailed;
  }
  auto* const cleanup = ngx_pool_cleanup_add(conf->pool, 0);
  if (cleanup == nullptr) return kFailed;
  settings.gateway = std::move(loaded)->release();
  cleanup->handler = delete_gateway;
  cleanup->data = settings.gateway;
  for (const std::string& warning : settings.gateway->warnings()) {
    ngx_conf_log_error(NGX_LOG_WARN, conf, 0, "%s", warning.c_str());
  }
  return kOk;
}

char* set_config(ngx_conf_t* conf, ngx_command_t*, void* settings) noexcept {
  return guarded(conf, [&] { return read_config(conf, *static_cast<MainSettings*>(settings)); });
}

char* set_rules(ngx_conf_t* conf, ngx_command_t*, void* settings) noexcept {
  auto& place = *static_cast<PlaceSettings*>(settings);
  if (place.names != nullptr) return const_cast<char*>("is there already");
  const auto names = words(conf).subspan(1);
  place.names = ngx_array_create(conf->pool, names.size(), sizeof(ngx_str_t));
  if (place.names == nullptr) return kFailed;
  auto* const room = static_cast<ngx_str_t*>(ngx_array_push_n(place.names, names.size()));
  if (room == nullptr) return kFailed;
  std::ranges::copy(names, room);
  return kOk;
}

// A text with variables. Null if it is wrong; nginx has then logged it.
ngx_http_complex_value_t* compile(ngx_conf_t* conf, ngx_str_t text) {
  auto* const value = static_cast<ngx_http_complex_value_t*>(
      ngx_pcalloc(conf->pool, sizeof(ngx_http_complex_value_t)));
  if (value == nullptr) return nullptr;
  ngx_http_compile_complex_value_t how{};
  how.cf = conf;
  how.value = &text;
  how.complex_value = value;
  return ngx_http_compile_complex_value(&how) == NGX_OK ? value : nullptr;
}

char* read_key(ngx_conf_t* conf, PlaceSettings& place) {
  if (place.key != nullptr || place.tier != nullptr || place.cost != nullptr) {
    return const_cast<char*>("is there already");
  }
  for (const ngx_str_t& word : words(conf).subspan(1)) {
    constexpr std::pair<std::string_view, ngx_http_complex_value_t * PlaceSettings::*> kNamed[] = {
        {"tier=", &PlaceSettings::tier}, {"cost=", &PlaceSettings::cost}};
    std::string_view text = view_of(word);
    auto target = &PlaceSettings::key;
    for (const auto& [prefix, member] : kNamed) {
      if (!text.starts_with(prefix)) continue;
      text.remove_prefix(prefix.size());
      target = member;
    }
    if (place.*target != nullptr) {
      return refuse(conf, "\"" + std::string(text) +
                              "\" comes second; weir_key takes a key, "
                              "tier=VALUE and cost=VALUE");
    }
    place.*target = compile(conf, str_of(text));
    if (place.*target == nullptr) return kFailed;
  }
  return kOk;
}

char* set_key(ngx_conf_t* conf, ngx_command_t*, void* settings) noexcept {
  return guarded(conf, [&] { return read_key(conf, *static_cast<PlaceSettings*>(settings)); });
}

ngx_http_core_loc_conf_t& core_settings(ngx_conf_t* conf) {
  return *static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(conf, ngx_http_core_module));
}

// "location /weir/", or with ^~; not =, ~, ~* and @.
bool is_prefix(const ngx_http_core_loc_conf_t& location) {
  return location.regex == nullptr && location.named == 0 && location.exact_match == 0;
}

char* set_admin(ngx_conf_t* conf, ngx_command_t*, void*) noexcept {
  const auto& main =
      *static_cast<MainSettings*>(ngx_http_conf_get_module_main_conf(conf, ngx_http_weir_module));
  if (main.gateway == nullptr || main.zone == nullptr) {
    return refuse(conf,
                  "\"weir_admin\" needs \"weir_zone NAME SIZE;\" and \"weir_config FILE;\" "
                  "before it, in \"http\"");
  }
  auto& core = core_settings(conf);
  if (core.handler != nullptr) {
    return refuse(conf,
                  "\"weir_admin\" comes after another directive that answers here, or after "
                  "itself; give it a location of its own, once");
  }
  if (!is_prefix(core)) {
    return refuse(conf,
                  "\"weir_admin\" shows a page by what its address says behind the location's "
                  "name, and this location stands for no beginning of addresses; write "
                  "\"location /weir/ { weir_admin; }\"");
  }
  core.handler = show_admin;
  return kOk;
}

char* check_status(ngx_conf_t* conf, void*, void* data) noexcept {
  const auto status = *static_cast<ngx_int_t*>(data);
  if (status >= static_cast<ngx_int_t>(kStatusMin) && status <= static_cast<ngx_int_t>(kStatusMax))
    return kOk;
  return refuse(conf, "weir_status must be from 400 to 599");
}

ngx_conf_enum_t kSwitches[] = {
    {ngx_string("off"), static_cast<ngx_uint_t>(Switch::kOff)},
    {ngx_string("on"), static_cast<ngx_uint_t>(Switch::kOn)},
    {ngx_string("dry_run"), static_cast<ngx_uint_t>(Switch::kDryRun)},
    {ngx_null_string, 0},
};
ngx_conf_post_t kCheckStatus = {check_status};

constexpr ngx_uint_t kAnywhere = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF;

// A blocked operator could not lift the block at a spared place. "weir on" around the location is
// only for locations within it; an "if" within it is part of it.
bool is_spared(ngx_conf_t* conf, const PlaceSettings& above, const PlaceSettings& place) {
  if (place.mode != NGX_CONF_UNSET_UINT) return false;
  const auto& core = core_settings(conf);
  return core.handler == show_admin || (core.noname != 0 && above.is_spared);
}

char* choose_rules(ngx_conf_t* conf, PlaceSettings& place) {
  const auto& main =
      *static_cast<MainSettings*>(ngx_http_conf_get_module_main_conf(conf, ngx_http_weir_module));
  if (place.state() == Switch::kOff) return kOk;
  if (main.gateway == nullptr || main.zone == nullptr) {
    return refuse(conf,
                  "\"weir\" needs \"weir_zone NAME SIZE;\" and \"weir_config FILE;\" in "
                  "\"http\"");
  }
  if (place.names == nullptr) return kOk;
  std::vector<std::string_view> names;
  for (const ngx_str_t& name :
       std::span(static_cast<ngx_str_t*>(place.names->elts), place.names->nelts)) {
    names.push_back(view_of(name));
  }
  const auto chosen = main.gateway->choose(names);
  if (!chosen) return refuse(conf, "weir_rules: " + chosen.error().message);
  place.rules = *chosen;
  return kOk;
}

// The settings of a request before nginx knows its location.
PlaceSettings& server_settings(ngx_conf_t* conf) {
  const auto* const server = static_cast<ngx_http_core_srv_conf_t*>(
      ngx_http_conf_get_module_srv_conf(conf, ngx_http_core_module));
  return *static_cast<PlaceSettings*>(server->ctx->loc_conf[ngx_http_weir_module.ctx_index]);
}

}  // namespace

ngx_command_t kCommands[] = {
    {ngx_string("weir_zone"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE2, set_zone,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("weir_config"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_config,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    {ngx_string("weir"), kAnywhere | NGX_CONF_TAKE1, ngx_conf_set_enum_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(PlaceSettings, mode), kSwitches},
    {ngx_string("weir_rules"), kAnywhere | NGX_CONF_1MORE, set_rules, NGX_HTTP_LOC_CONF_OFFSET, 0,
     nullptr},
    {ngx_string("weir_key"), kAnywhere | NGX_CONF_TAKE123, set_key, NGX_HTTP_LOC_CONF_OFFSET, 0,
     nullptr},
    {ngx_string("weir_status"), kAnywhere | NGX_CONF_TAKE1, ngx_conf_set_num_slot,
     NGX_HTTP_LOC_CONF_OFFSET, offsetof(PlaceSettings, status), &kCheckStatus},
    {ngx_string("weir_admin"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_admin,
     NGX_HTTP_LOC_CONF_OFFSET, 0, nullptr},
    ngx_null_command,
};

void* make_main_settings(ngx_conf_t* conf) noexcept {
  return ngx_pcalloc(conf->pool, sizeof(MainSettings));
}

void* make_place_settings(ngx_conf_t* conf) noexcept {
  auto* const place = static_cast<PlaceSettings*>(ngx_pcalloc(conf->pool, sizeof(PlaceSettings)));
  if (place == nullptr) return nullptr;
  place->mode = NGX_CONF_UNSET_UINT;
  place->status = NGX_CONF_UNSET_UINT;
  return place;
}

char* merge_place_settings(ngx_conf_t* conf, void* parent, void* child) noexcept {
  const auto& above = *static_cast<PlaceSettings*>(parent);
  auto& place = *static_cast<PlaceSettings*>(child);
  place.is_spared = is_spared(conf, above, place);
  ngx_conf_merge_uint_value(place.mode, above.mode, static_cast<ngx_uint_t>(Switch::kOff));
  ngx_conf_merge_uint_value(place.status, above.status, kStatusUnlessSaid);
  if (place.names == nullptr) place.names = above.names;
  if (place.key == nullptr && place.tier == nullptr && place.cost == nullptr) {
    place.key = above.key;
    place.tier = above.tier;
    place.cost = above.cost;
  }
  if (place.state() != Switch::kOff) server_settings(conf).is_used = true;
  return guarded(conf, [&] { return choose_rules(conf, place); });
}

std::size_t place_count() {
  const auto cores = static_cast<std::size_t>(std::max<ngx_int_t>(ngx_ncpu, 1));
  return std::min(kPlacesACore * cores + kPlacesSpare, Concurrency::kOwnersMax);
}

const Clock& zone_clock() {
  static const SystemClock clock;
  return clock;
}

RuleIds& rule_ids() {
  static RuleIds ids;
  return ids;
}

}  // namespace weir::nginx
