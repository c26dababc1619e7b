// A place that has `weir_admin`: hands the request to the pages, and their reply to nginx.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/admin_test.py.

#pragma once

#include "nginx/abi/nginx_api.h"

namespace weir::nginx {

class Admin;

// From now on these pages are shown. Null: none are.
void use_admin(Admin* admin);

// The content of such a place.
ngx_int_t show_admin(ngx_http_request_t* request) noexcept;

}  // namespace weir::nginx
