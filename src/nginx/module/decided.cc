#include "nginx/module/decided.h"

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "config/yaml/yaml_text.h"
#include "nginx/module/settings.h"

namespace weir::nginx {
namespace {

ngx_http_output_header_filter_pt next_filter = nullptr;
ngx_http_output_body_filter_pt next_body_filter = nullptr;

std::string_view find_field(ngx_list_t& list, std::string_view name) {
  for (const ngx_list_part_t* part = &list.part; part != nullptr; part = part->next) {
    for (const auto& field : std::span(static_cast<ngx_table_elt_t*>(part->elts), part->nelts)) {
      if (equal_ignoring_case(view_of(field.key), name)) return view_of(field.value);
    }
  }
  return {};
}

// As the client gets it, or as the origin sent it: nginx may hide it.
std::string_view field_of(ngx_http_request_t* request, std::string_view name) {
  const auto shown = find_field(request->headers_out.headers, name);
  if (!shown.empty() || request->upstream == nullptr) return shown;
  ngx_list_t& received = request->upstream->headers_in.headers;
  return received.part.elts == nullptr ? shown : find_field(received, name);
}

// As far as nginx knows, an origin got a part of the request, and no origin has answered.
bool is_unanswered(const ngx_http_request_t* request) {
  const ngx_array_t* const tries = request->upstream_states;
  if (tries == nullptr) return false;
  constexpr auto kNever = static_cast<ngx_msec_t>(-1);
  bool unanswered = false;
  for (const auto& each :
       std::span(static_cast<const ngx_http_upstream_state_t*>(tries->elts), tries->nelts)) {
    if (each.peer == nullptr) continue;  // separates the tries of two locations
    unanswered = each.header_time == kNever && (unanswered || each.bytes_sent > 0);
  }
  return unanswered;
}

// Once: an operator has to add a price, whichever models come.
void tell_unknown_model(std::string_view model, ngx_log_t* log) {
  static bool is_told = false;
  if (std::exchange(is_told, true)) return;
  const std::string shown = printable(model);
  ngx_str_t name = str_of(shown);
  ngx_log_error(
      NGX_LOG_WARN, log, 0,
      "weir: \"prices\" has no model \"%V\", which costs as the dearest; add it, or \"*\" "
      "for all others",
      &name);
}

void charge(Stay& stay, const ResponseHead& response, ngx_log_t* log) noexcept {
  if (deciders.judge == nullptr) return;
  try {
    if (stay.reads_body()) {
      const auto unknown = deciders.judge->charge_for_body(stay);
      if (unknown) tell_unknown_model(*unknown, log);
    } else {
      deciders.judge->charge(stay, response);
    }
    if (deciders.loop != nullptr) deciders.loop->has_asked();
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_ERR, log, 0, "weir: a response is not counted: %s", error.what());
  }
}

// nullopt for a body that cannot be read.
std::optional<UsageReader::Form> form_of(const ngx_http_request_t* request) {
  const auto& head = request->headers_out;
  const bool is_coded = head.content_encoding != nullptr && head.content_encoding->hash != 0 &&
                        !equal_ignoring_case(view_of(head.content_encoding->value), "identity");
  return is_coded ? std::nullopt : UsageReader::form_of(view_of(head.content_type));
}

// nginx must pass data on at once, and show its data from disk.
void watch_body(ngx_http_request_t* request, const ResponseHead& head, Decided& decided) {
  ngx_http_set_ctx(request, &decided, ngx_http_weir_module);
  request->filter_need_in_memory = 1;
  ngx_http_upstream_t* const upstream = request->upstream;
  if (head.body != UsageReader::Form::kEvents || upstream == nullptr) return;
  if (upstream->conf->change_buffering != 0 && upstream->cacheable == 0 && upstream->store == 0) {
    upstream->buffering = 0;
  }
}

void read_pieces(Stay& stay, const ngx_chain_t* pieces, ngx_log_t* log) {
  bool is_last = false;
  for (; pieces != nullptr; pieces = pieces->next) {
    const ngx_buf_t& piece = *pieces->buf;
    if (ngx_buf_in_memory(&piece)) {
      stay.read({reinterpret_cast<const char*>(piece.pos),
                 static_cast<std::size_t>(piece.last - piece.pos)});
    }
    is_last = is_last || piece.last_buf != 0;
  }
  if (is_last) charge(stay, {}, log);
}

// If a request goes away while it waits, its asks go with it.
void settle(void* data) {
  auto& decided = *static_cast<Decided*>(data);
  delete std::exchange(decided.parked, nullptr);
  // Without a judge the process is ending, and its counters have ended.
  if (deciders.judge == nullptr) return;
  const std::unique_ptr<Stay> stay(std::exchange(decided.stay, nullptr));
  if (stay != nullptr && stay->owes()) charge(*stay, {.is_known = false}, ngx_cycle->log);
}

// The phases go on where they waited.
void run_phases(ngx_http_request_t* request) {
  if (ngx_handle_read_event(request->connection->read, 0) != NGX_OK) {
    return ngx_http_finalize_request(request, NGX_HTTP_INTERNAL_SERVER_ERROR);
  }
  request->read_event_handler = ngx_http_block_reading;
  request->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(request);
}

void go_on(ngx_http_request_t* request) noexcept {
  ngx_connection_t* const connection = request->connection;
  if (connection->write->delayed != 0) {  // woken by something else
    if (ngx_handle_write_event(connection->write, 0) != NGX_OK) {
      ngx_http_finalize_request(request, NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    return;
  }
  Decided& decided = *find_decided(request);
  decided.is_delayed = false;
  if (decided.stay != nullptr) decided.stay->go_on();
  run_phases(request);
}

}  // namespace

Decided* find_decided(const ngx_http_request_t* request) {
  for (auto* cleanup = request->main->pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
    if (cleanup->handler == settle) return static_cast<Decided*>(cleanup->data);
  }
  return nullptr;
}

Decided* keep_decided(ngx_http_request_t* request) {
  auto* const cleanup = ngx_pool_cleanup_add(request->pool, sizeof(Decided));
  if (cleanup == nullptr) return nullptr;
  cleanup->handler = settle;
  return new (cleanup->data) Decided();
}

ngx_int_t count_response(ngx_http_request_t* request) noexcept {
  Decided* const decided = request == request->main ? find_decided(request) : nullptr;
  if (decided != nullptr && decided->stay != nullptr && decided->stay->owes()) {
    const ResponseHead head{
        .status = static_cast<int>(request->headers_out.status),
        .is_known = !is_unanswered(request),
        .body = form_of(request),
        .field = [request](std::string_view name) { return field_of(request, name); }};
    charge(*decided->stay, head, request->connection->log);
    if (decided->stay->reads_body()) watch_body(request, head, *decided);
  }
  return next_filter(request);
}

ngx_int_t read_response(ngx_http_request_t* request, ngx_chain_t* pieces) noexcept {
  const auto* const decided =
      static_cast<Decided*>(ngx_http_get_module_ctx(request, ngx_http_weir_module));
  if (decided != nullptr && decided->stay != nullptr && decided->stay->reads_body()) {
    read_pieces(*decided->stay, pieces, request->connection->log);
  }
  return next_body_filter(request, pieces);
}

void count_responses_before(ngx_http_output_header_filter_pt next) { next_filter = next; }
void read_responses_before(ngx_http_output_body_filter_pt next) { next_body_filter = next; }

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
  run_phases(request);
  ngx_http_run_posted_requests(connection);
}

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
