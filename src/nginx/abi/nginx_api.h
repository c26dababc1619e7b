// nginx's own headers. They are C, and compiled without our warnings.
//
// Thread rule: nginx's: one thread a process. Tested with its users, tests/nginx first.

#pragma once

extern "C" {
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
}

#include <string_view>

namespace weir::nginx {

inline std::string_view view_of(const ngx_str_t& text) {
  return {reinterpret_cast<const char*>(text.data), text.len};
}

// nginx does not write to the texts of these.
inline ngx_str_t str_of(std::string_view text) {
  return {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
}

// A copy that lives as long as the pool; no data if there is no memory.
inline ngx_str_t copy_of(std::string_view text, ngx_pool_t* pool) {
  auto* const data = static_cast<u_char*>(ngx_pnalloc(pool, text.size()));
  if (data == nullptr) return {0, nullptr};
  ngx_memcpy(data, text.data(), text.size());
  return {text.size(), data};
}

}  // namespace weir::nginx
