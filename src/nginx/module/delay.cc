#include "nginx/module/delay.h"

#include <chrono>

namespace weir::nginx {
namespace {

void go_on(ngx_http_request_t* request) noexcept {
  ngx_connection_t* const connection = request->connection;
  if (connection->write->delayed != 0) {  // something else has happened
    if (ngx_handle_write_event(connection->write, 0) != NGX_OK) {
      ngx_http_finalize_request(request, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    return;
  }
  Decided& decided = *find_decided(request);
  decided.is_delayed = false;
  if (decided.stay != nullptr) decided.stay->go_on();
  if (ngx_handle_read_event(connection->read, 0) != NGX_OK) {
    return ngx_http_finalize_request(request, NGX_HTTP_INTERNAL_SERVER_ERROR);
  }
  request->read_event_handler = ngx_http_block_reading;
  request->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(request);
}

}  // namespace

ngx_int_t delay_request(ngx_http_request_t* request, Decided& decided, Duration wait) {
  ngx_connection_t* const connection = request->connection;
  if (ngx_handle_read_event(connection->read, 0) != NGX_OK) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  decided.is_delayed = true;
  request->read_event_handler = ngx_http_test_reading;
  request->write_event_handler = go_on;
  connection->write->delayed = 1;
  const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  ngx_add_timer(connection->write, static_cast<ngx_msec_t>(wait_ms));
  return NGX_AGAIN;
}

}  // namespace weir::nginx
