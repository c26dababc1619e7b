#include "nginx/module/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "gate/denial.h"
#include "net/sockets/address.h"
#include "nginx/module/decided.h"
#include "nginx/module/request_body.h"
#include "nginx/module/settings.h"
#include "proto/http/rate_limit_fields.h"
#include "rules/mode.h"
#include "rules/request/plain_value.h"

namespace weir::nginx {
namespace {

constexpr std::size_t kHashDigits = 16;

// Origins would read it in different ways: rules/request/plain_value.h.
bool has_odd_header(const ngx_http_request_t* request) {
  bool has_one = false;
  for_each_header(request, [&](ngx_table_elt_t& header) {
    if (is_plain_value(view_of(header.value))) return;
    has_one = true;
    ngx_log_error(NGX_LOG_INFO, request->connection->log, 0,
                  "weir: header \"%V\" has a control character, or white space beyond ASCII at an "
                  "end",
                  &header.key);
  });
  return has_one;
}

// The request as rules compare it, as far as they read it: the client's, before nginx rewrote
// anything. False: its path has too many readings.
bool read_request(const ngx_http_request_t* from, const RequestNeeds& needs, DescribedRequest& to) {
  to.request = {.method = view_of(from->method_name), .client = client_of(from)};
  if (needs.headers) {
    read_headers(from, to.headers);
    to.request.headers = to.headers;
  }
  if (needs.host) set_host(view_of(from->headers_in.server), to);
  return !needs.target || set_uri(view_of(from->unparsed_uri), to);
}

// nginx uses an absolute request line, a proxied origin the field: rules must see one host.
bool says_two_hosts(const ngx_http_request_t* request, std::string_view host) {
  const ngx_table_elt_t* const field = request->headers_in.host;
  if (field == nullptr || view_of(field->value) == host) return false;
  DescribedRequest other;
  set_host(view_of(field->value), other);
  return other.request.host != host;
}

// False if nginx could not work out the value. nullopt if the place has none.
bool read_value(ngx_http_request_t* request, ngx_http_complex_value_t* value,
                std::optional<std::string_view>& text) {
  if (value == nullptr) return true;
  ngx_str_t found;
  if (ngx_http_complex_value(request, value, &found) != NGX_OK) return false;
  text = view_of(found);
  return true;
}

// As ngx_list_push(), without a call while there is room. False if there is no memory.
bool push_field(ngx_http_request_t* request, ngx_str_t name, ngx_str_t value) {
  ngx_list_t& fields = request->headers_out.headers;
  ngx_list_part_t& last = *fields.last;
  auto* field = static_cast<ngx_table_elt_t*>(last.elts) + last.nelts;
  if (last.nelts < fields.nalloc) {
    ++last.nelts;
  } else {
    field = static_cast<ngx_table_elt_t*>(ngx_list_push(&fields));
  }
  if (field == nullptr) return false;
  *field = {.hash = 1, .key = name, .value = value};
  return true;
}

// Whether the operator answers this status with a page of his own.
bool has_error_page(ngx_http_request_t* request, ngx_int_t status) {
  const auto* const core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
  if (core->error_pages == nullptr) return false;
  for (const auto& page : std::span(static_cast<ngx_http_err_page_t*>(core->error_pages->elts),
                                    core->error_pages->nelts)) {
    if (page.status == status) return true;
  }
  return false;
}

// Type and text live as long as the request.
ngx_int_t answer(ngx_http_request_t* request, ngx_int_t status, ngx_str_t type, ngx_str_t text) {
  if (has_error_page(request, status)) return status;
  ngx_http_finalize_request(request, send_text(request, status, type, text));
  return NGX_DONE;
}

DenialStatus denials_at(const PlaceSettings& place) {
  return {.status = static_cast<int>(place.status)};
}

ngx_int_t deny(ngx_http_request_t* request, const PlaceSettings& place, const Judgement& judgement,
               const Request& described) {
  const GateAnswer& said = *judgement.said;
  ngx_log_error(NGX_LOG_INFO, request->connection->log, 0, "weir: rule \"%s\" denies",
                said.ask->rule->id.c_str());
  const DenialText text(said, described, denials_at(place));
  if (text.is_usual()) {
    return answer(request, text.status(), str_of(text.content_type()), str_of(text.body()));
  }
  if (!add_fields(request, text.fields())) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  return answer(request, text.status(), copy_of(text.content_type(), request->pool),
                copy_of(text.body(), request->pool));
}

std::string_view decision_text(const Judgement& judgement, Switch state) {
  const bool is_dry_run = state == Switch::kDryRun;
  if (judgement.is_denied()) return is_dry_run ? "denied_dry_run" : "denied";
  if (judgement.wait > Duration{0}) return is_dry_run ? "delayed_dry_run" : "delayed";
  return "allowed";
}

// Keeps both in one piece of memory; keeps nothing if there is none.
void keep_names(std::string_view rule, std::string_view key, ngx_pool_t* pool, Decided& decided) {
  auto* const room = static_cast<char*>(ngx_pnalloc(pool, rule.size() + key.size()));
  if (room == nullptr) return;
  ngx_memcpy(room, rule.data(), rule.size());
  ngx_memcpy(room + rule.size(), key.data(), key.size());
  decided.rule = str_of({room, rule.size()});
  decided.key = str_of({room + rule.size(), key.size()});
}

// Keeps the values of variables. They outlive the rules, which a request may change.
void note(const Judgement& judgement, Switch state, ngx_pool_t* pool, Decided& decided) {
  decided.time_us = epoch_us(judgement.at);
  if (judgement.kind != Judgement::Kind::kDecided) return;
  const Answer& answer = *judgement.said->answer;
  decided.mode = str_of(mode_name(answer.mode));
  keep_names(judgement.said->ask->rule->id, judgement.said->ask->key, pool, decided);
  decided.limit = answer.decision.limit;
  decided.remaining = answer.decision.remaining;
  if (answer.decision.verdict == Verdict::kDenied) {
    decided.retry_after_s = std::max<std::int64_t>(1, whole_seconds(answer.decision.retry_after));
  }
  decided.wait_ms = std::chrono::ceil<std::chrono::milliseconds>(judgement.wait).count();
  decided.decision = str_of(decision_text(judgement, state));
}

void log_refusal(const ngx_http_request_t* request, const GateRefusal& refusal) {
  ngx_log_t* const log = request->connection->log;
  if (refusal.repeated_header.empty()) {
    ngx_log_error(NGX_LOG_ERR, log, 0, "weir: more than 16 limits apply at once");
  } else {
    ngx_str_t name = str_of(refusal.repeated_header);
    ngx_log_error(NGX_LOG_INFO, log, 0, "weir: header \"%V\" is repeated, and has to say one thing",
                  &name);
  }
}

// Asks the origin not to compress an answer that Weir has to read.
void want_plain_answer(const ngx_http_request_t* request) {
  for_each_header(request, [](ngx_table_elt_t& header) {
    if (equal_ignoring_case(view_of(header.key), "Accept-Encoding")) {
      header.value = str_of("identity");
    }
  });
}

ngx_int_t act_on(ngx_http_request_t* request, const PlaceSettings& place, Decided& decided,
                 const Judgement& judgement, const Request& described) {
  if (decided.stay != nullptr && decided.stay->wants_body()) want_plain_answer(request);
  switch (judgement.kind) {
    case Judgement::Kind::kNothing: return NGX_DECLINED;
    case Judgement::Kind::kRefused:
      log_refusal(request, judgement.refusal);
      return place.state() == Switch::kDryRun ? NGX_DECLINED : judgement.refusal.status;
    case Judgement::Kind::kUnavailable:
      return place.state() == Switch::kDryRun ? NGX_DECLINED : NGX_HTTP_SERVICE_UNAVAILABLE;
    case Judgement::Kind::kWaits:
    case Judgement::Kind::kNeedsBody:
    case Judgement::Kind::kDecided: break;
  }
  if (place.state() == Switch::kDryRun) {
    if (decided.stay != nullptr) decided.stay->go_on();
    return NGX_DECLINED;
  }
  if (!add_limit_fields(request, judgement.said->limit)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  if (judgement.is_denied()) return deny(request, place, judgement, described);
  if (judgement.wait > Duration{0}) return delay_request(request, decided, judgement.wait);
  return NGX_DECLINED;
}

ngx_int_t park(ngx_http_request_t* request, Decided& decided) {
  if (ngx_handle_read_event(request->connection->read, 0) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  decided.parked = new ParkedRequest(*deciders.judge, *deciders.loop, request);
  return NGX_AGAIN;
}

ngx_int_t judge_request(ngx_http_request_t* request, const PlaceSettings& place, Decided* decided) {
  DescribedRequest& described = deciders.judge->scratch();
  const Instant now = deciders.judge->catch_up();
  const RequestNeeds& needs = deciders.judge->needs(place.rules);
  if (!read_request(request, needs, described) || has_odd_header(request) ||
      (needs.host && says_two_hosts(request, described.request.host))) {
    return place.state() == Switch::kDryRun ? NGX_DECLINED : NGX_HTTP_BAD_REQUEST;
  }
  Question question{.described = described,
                    .rules = place.rules,
                    .cost = {},
                    .passes = place.state() == Switch::kDryRun,
                    .denials = denials_at(place)};
  BodyStart body{.path = view_of(request->uri)};
  if (decided == nullptr) {
    decided = keep_decided(request);
  } else {
    body = start_of_body(request);
    question.body = &body;
    decided->body = Decided::Body::kNotNeeded;
  }
  if (decided == nullptr || !read_value(request, place.key, described.request.named_key) ||
      !read_value(request, place.tier, described.request.named_tier) ||
      !read_value(request, place.cost, question.cost)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  Judgement judgement = deciders.judge->judge(question, now);
  if (judgement.kind == Judgement::Kind::kNeedsBody) {
    if (has_plain_body(request)) return await_body(request, *decided);
    question.body = &body;
    judgement = deciders.judge->judge(question, now);
  }
  if (deciders.loop != nullptr) deciders.loop->has_asked();
  if (judgement.kind == Judgement::Kind::kWaits) return park(request, *decided);
  decided->stay = deciders.judge->take_stay().release();
  note(judgement, place.state(), request->pool, *decided);
  return act_on(request, place, *decided, judgement, described.request);
}

// Phases may run again while it waits.
ngx_int_t go_on(ngx_http_request_t* request, const PlaceSettings& place, Decided& decided) {
  if (decided.is_delayed || decided.body == Decided::Body::kAwaited) return NGX_AGAIN;
  if (decided.parked == nullptr) return NGX_DECLINED;
  if (!decided.parked->is_decided()) return NGX_AGAIN;
  const std::unique_ptr<ParkedRequest> parked(std::exchange(decided.parked, nullptr));
  DescribedRequest& described = deciders.judge->scratch();
  read_request(request, deciders.judge->needs(place.rules), described);
  const Judgement judgement = parked->judgement();
  decided.stay = parked->take_stay().release();
  note(judgement, place.state(), request->pool, decided);
  return act_on(request, place, decided, judgement, described.request);
}

// ---- variables -------------------------------------------------------------------------

enum class Variable : std::uint8_t {
  kDecision,
  kRule,
  kKeyHash,
  kLimit,
  kRemaining,
  kRetryAfter,
  kMode,
  kTime,
  kDelay,
  kAwaited,
};

struct VariableName {
  std::string_view name;
  Variable variable;
};
constexpr VariableName kVariables[] = {
    {"weir_decision", Variable::kDecision},   {"weir_rule", Variable::kRule},
    {"weir_key_hash", Variable::kKeyHash},    {"weir_limit", Variable::kLimit},
    {"weir_remaining", Variable::kRemaining}, {"weir_retry_after", Variable::kRetryAfter},
    {"weir_mode", Variable::kMode},           {"weir_time", Variable::kTime},
    {"weir_delay", Variable::kDelay},         {"weir_awaited", Variable::kAwaited},
};

// The text of a number, in the request's memory.
std::string_view write_number(ngx_http_request_t* request, std::uint64_t number, int base) {
  std::array<char, 20> text;
  const char* const end = std::to_chars(text.begin(), text.end(), number, base).ptr;
  const auto digits = static_cast<std::size_t>(end - text.begin());
  const std::size_t size = base == 16 ? kHashDigits : digits;
  auto* const copy = static_cast<char*>(ngx_pnalloc(request->pool, size));
  if (copy == nullptr) return {};
  ngx_memset(copy, '0', size - digits);
  ngx_memcpy(copy + size - digits, text.data(), digits);
  return {copy, size};
}

// "0.350"; empty for 0.
std::string_view write_seconds(ngx_http_request_t* request, std::int64_t ms) {
  constexpr std::size_t kSize = 24;
  if (ms == 0) return {};
  auto* const copy = static_cast<u_char*>(ngx_pnalloc(request->pool, kSize));
  if (copy == nullptr) return {};
  const u_char* const end = ngx_snprintf(copy, kSize, "%L.%03L", ms / 1000, ms % 1000);
  return {reinterpret_cast<const char*>(copy), static_cast<std::size_t>(end - copy)};
}

std::string_view text_of(ngx_http_request_t* request, const Decided& decided, Variable variable) {
  const bool has_rule = decided.rule.data != nullptr;
  const auto number = [&](std::int64_t value) {
    return write_number(request, static_cast<std::uint64_t>(value), 10);
  };
  switch (variable) {
    case Variable::kDecision: return view_of(decided.decision);
    case Variable::kRule: return view_of(decided.rule);
    case Variable::kMode: return view_of(decided.mode);
    case Variable::kTime: return number(decided.time_us);
    case Variable::kDelay: return write_seconds(request, decided.wait_ms);
    case Variable::kAwaited: return decided.stay != nullptr && decided.stay->owes() ? "1" : "";
    case Variable::kKeyHash:
      if (!has_rule || deciders.judge == nullptr) return {};
      return write_number(
          request, deciders.judge->key_hash(view_of(decided.rule), view_of(decided.key)), 16);
    case Variable::kLimit: return has_rule ? number(decided.limit) : std::string_view();
    case Variable::kRemaining: return has_rule ? number(decided.remaining) : std::string_view();
    case Variable::kRetryAfter:
      return decided.retry_after_s > 0 ? number(decided.retry_after_s) : std::string_view();
  }
  return {};
}

ngx_int_t get_variable(ngx_http_request_t* request, ngx_http_variable_value_t* value,
                       uintptr_t which) noexcept {
  const Decided* const decided = find_decided(request);
  const auto text = decided == nullptr ? std::string_view()
                                       : text_of(request, *decided, static_cast<Variable>(which));
  if (text.empty()) {
    value->not_found = 1;
    return NGX_OK;
  }
  value->data = str_of(text).data;
  value->len = static_cast<unsigned>(text.size()) & 0xFFFFFFFU;
  value->valid = 1;
  value->no_cacheable = 0;
  value->not_found = 0;
  return NGX_OK;
}

}  // namespace

std::optional<IpAddress> client_of(const ngx_http_request_t* request) {
  return ip_address_of(request->connection->sockaddr);
}

void read_headers(const ngx_http_request_t* from, std::vector<NameValue>& to) {
  to.clear();
  for_each_header(from, [&](const ngx_table_elt_t& header) {
    to.push_back({.name = view_of(header.key), .value = view_of(header.value)});
  });
}

ngx_int_t send_text(ngx_http_request_t* request, ngx_int_t status, ngx_str_t type, ngx_str_t text) {
  if (type.data == nullptr || text.data == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  ngx_http_complex_value_t body{};
  body.value = text;
  return ngx_http_send_response(request, static_cast<ngx_uint_t>(status), &type, &body);
}

bool add_fields(ngx_http_request_t* request, std::span<const NameValue> fields) {
  return std::ranges::all_of(fields, [&](const NameValue& field) {
    const ngx_str_t name = copy_of(field.name, request->pool);
    const ngx_str_t value = copy_of(field.value, request->pool);
    return name.data != nullptr && value.data != nullptr && push_field(request, name, value);
  });
}

bool add_limit_fields(ngx_http_request_t* request, const RateLimit& limit) {
  auto* const room = static_cast<char*>(ngx_pnalloc(request->pool, rate_limit_headers_max(limit)));
  if (room == nullptr) return false;
  bool are_complete = true;  // false: nginx has no memory
  put_rate_limit_fields<FieldNames::kUsual>(
      limit, room, [&](std::string_view name, std::string_view value) {
        are_complete = push_field(request, str_of(name), str_of(value)) && are_complete;
      });
  return are_complete;
}

void use_judge(Judge* judge, WorkerLoop* loop) { deciders = {.judge = judge, .loop = loop}; }

ngx_int_t trim_headers(ngx_http_request_t* request) noexcept {
  const auto& server =
      *static_cast<PlaceSettings*>(ngx_http_get_module_loc_conf(request, ngx_http_weir_module));
  if (!server.is_used) return NGX_DECLINED;
  for_each_header(request, [](ngx_table_elt_t& header) {
    const std::string_view trimmed = trim_blanks(view_of(header.value));
    if (trimmed.size() == header.value.len) return;
    header.value = str_of(trimmed);
    header.value.data[header.value.len] = '\0';  // nginx ends each so
  });
  return NGX_DECLINED;
}

ngx_int_t handle_request(ngx_http_request_t* request) noexcept {
  const auto& place =
      *static_cast<PlaceSettings*>(ngx_http_get_module_loc_conf(request, ngx_http_weir_module));
  if (place.state() == Switch::kOff || request != request->main) return NGX_DECLINED;
  try {
    Decided* const decided = find_decided(request);
    const bool is_judged = decided != nullptr && decided->body != Decided::Body::kRead;
    return is_judged ? go_on(request, place, *decided) : judge_request(request, place, decided);
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_ERR, request->connection->log, 0, "weir: %s", error.what());
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
}

ngx_int_t add_variables(ngx_conf_t* conf) noexcept {
  for (const VariableName& each : kVariables) {
    ngx_str_t name = str_of(each.name);
    auto* const variable = ngx_http_add_variable(conf, &name, NGX_HTTP_VAR_NOCACHEABLE);
    if (variable == nullptr) return NGX_ERROR;
    variable->get_handler = get_variable;
    variable->data = static_cast<uintptr_t>(each.variable);
  }
  return NGX_OK;
}

}  // namespace weir::nginx
