// Weir's settings in nginx's configuration: one set for all of it, and one for each place (http,
// server, location).
//
// Thread rule: made while nginx reads its configuration; then immutable. Tested by tests/nginx.

#pragma once

#include <cstddef>
#include <cstdint>

#include "nginx/abi/nginx_api.h"
#include "nginx/gateway.h"
#include "weir/clock.h"

extern "C" {
extern ngx_module_t ngx_http_weir_module;
}

namespace weir::nginx {

enum class Switch : std::uint8_t { kOff, kOn, kDryRun };

// All null if the configuration does not set them.
struct MainSettings {
  ngx_shm_zone_t* zone;
  ngx_shm_zone_t* figures;  // the counters of traffic, in their own zone
  Gateway* gateway;
};

struct PlaceSettings {
  ngx_uint_t mode;     // a Switch
  ngx_array_t* names;  // of rules and groups; of ngx_str_t
  ngx_http_complex_value_t* key;
  ngx_http_complex_value_t* tier;
  ngx_http_complex_value_t* cost;
  ngx_uint_t status;  // of denials whose rule has none
  std::size_t rules;  // the number of the gateway's set
  bool is_used;       // of a server: Weir is on there, or in a location
  bool is_spared;     // shows the pages of `weir_admin`, without a `weir on` of its own

  Switch state() const { return is_spared ? Switch::kOff : static_cast<Switch>(mode); }
};

extern ngx_command_t kCommands[];

void* make_main_settings(ngx_conf_t* conf) noexcept;
void* make_place_settings(ngx_conf_t* conf) noexcept;
char* merge_place_settings(ngx_conf_t* conf, void* parent, void* child) noexcept;

// The counters of traffic in `figures`: one for each place in the zone.
std::size_t place_count();

// The master's clock. All workers inherit it, so that they share one timeline.
const Clock& zone_clock();
// The master's ids, which stay through all reloads.
RuleIds& rule_ids();

}  // namespace weir::nginx
