#include "nginx/module/parked_request.h"

namespace weir::nginx {

ClientWatch::ClientWatch(WorkerLoop& loop, ngx_http_request_t* request) : loop_(loop) {
  loop_.begin_waiting();
  request->read_event_handler = ngx_http_test_reading;
  request->write_event_handler = ngx_http_request_empty_handler;
}

// The handler, which runs again, destroys this; the request may end with it.
void ParkedRequest::resume() {
  ngx_http_request_t* const request = request_;
  ngx_connection_t* const connection = request->connection;
  ngx_http_set_log_request(connection->log, request);
  if (ngx_handle_read_event(connection->read, 0) == NGX_OK) {
    request->read_event_handler = ngx_http_block_reading;
    request->write_event_handler = ngx_http_core_run_phases;
    ngx_http_core_run_phases(request);
  } else {
    ngx_http_finalize_request(request, NGX_HTTP_INTERNAL_SERVER_ERROR);
  }
  ngx_http_run_posted_requests(connection);
}

}  // namespace weir::nginx
