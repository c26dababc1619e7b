// Lets a request of nginx wait for its turn, as limit_req does: its phases stop, nginx looks
// whether its client leaves, and a timer lets them go on. A worker that is to quit waits for it.
//
// Thread rule: a worker's only thread. Tested by tests/nginx/delay_test.py.

#pragma once

#include "nginx/abi/nginx_api.h"
#include "nginx/module/decided.h"
#include "weir/time.h"

namespace weir::nginx {

// What a handler of a phase returns for a request that has to wait. The handler runs again then.
ngx_int_t delay_request(ngx_http_request_t* request, Decided& decided, Duration wait);

}  // namespace weir::nginx
