// Weir's work on nginx's requests: it decides each once, answers denied ones, and keeps values for
// logs and headers.
//
// A request is charged at the first place where Weir is on. Internal redirects (index, try_files,
// error_page, named locations, X-Accel-Redirect) keep that decision, and subrequests are not
// decided.
//
// Thread rule: a worker's only thread. Tested by tests/nginx.

#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/ip_address.h"
#include "base/name_value.h"
#include "nginx/abi/nginx_api.h"
#include "nginx/judge.h"
#include "nginx/module/worker_loop.h"
#include "proto/http/rate_limit_headers.h"

namespace weir::nginx {

class Admin;

// From now on this judge decides this worker's requests. Null: none does. `loop`: of the Redis for
// which requests may wait; null: there is none.
void use_judge(Judge* judge, WorkerLoop* loop);

// The handler of phase POST_READ. It removes blanks around header values, before other modules and
// the variables of keys read them. Servers without Weir keep the blanks.
ngx_int_t trim_headers(ngx_http_request_t* request) noexcept;

// The handler of phase PREACCESS.
ngx_int_t handle_request(ngx_http_request_t* request) noexcept;

// The client's address, as realip says; nullopt at a Unix socket.
std::optional<IpAddress> client_of(const ngx_http_request_t* request);

// The request's header fields, in the order sent.
void for_each_header(const ngx_http_request_t* request, const auto& visit) {
  for (const ngx_list_part_t* part = &request->headers_in.headers.part; part != nullptr;
       part = part->next) {
    for (auto& header : std::span(static_cast<ngx_table_elt_t*>(part->elts), part->nelts)) {
      visit(header);
    }
  }
}
void read_headers(const ngx_http_request_t* from, std::vector<NameValue>& to);

// Adds fields to the response. False: there is no memory.
bool add_fields(ngx_http_request_t* request, std::span<const NameValue> fields);
// Adds the fields that tell of a limit.
bool add_limit_fields(ngx_http_request_t* request, const RateLimit& limit);

// Sends the response, whose type and text live as long as the request. Without data, memory is
// short. Returns the value to finalize the request with.
ngx_int_t send_text(ngx_http_request_t* request, ngx_int_t status, ngx_str_t type, ngx_str_t text);

// ---- places with `weir_admin` (admin_request.cc) ----

// From now on these pages are shown. Null: no pages are.
void use_admin(Admin* admin);

// The content of such a place: hands the request to the pages, and their reply to nginx.
ngx_int_t show_admin(ngx_http_request_t* request) noexcept;

// ---- variables ----

// Adds $weir_decision and the others.
ngx_int_t add_variables(ngx_conf_t* conf) noexcept;

}  // namespace weir::nginx
