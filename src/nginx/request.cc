#include "nginx/request.h"

#include <array>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "nginx/fleet/parked_request.h"
#include "nginx/settings.h"
#include "proto/http/rate_limit_headers.h"
#include "rules/mode.h"
#include "rules/text/text_template.h"
#include "server/http/check/check_reply.h"
#include "server/http/check/denial_text.h"

namespace weir::nginx {
namespace {

constexpr std::size_t kHashDigits = 16;

// What became of a request: plain memory of its pool.
struct Decided {
  ngx_str_t decision;  // none: nobody was asked
  ngx_str_t rule;      // what follows is of this rule; none if none applied
  ngx_str_t mode;
  ngx_str_t key;
  std::int64_t limit;
  std::int64_t remaining;
  std::int64_t retry_after_s;  // 0: waiting does not help, or is not needed
  std::int64_t time_us;
  ParkedRequest* parked;  // while it waits for its answer; else null
};

Judge* the_judge = nullptr;
WorkerLoop* the_loop = nullptr;

// With a request that goes away while it waits goes what it has asked. Being a cleanup, this also
// marks what is kept for a request: redirects clear its module contexts, but not its cleanups.
void forget_decided(void* decided) { delete static_cast<Decided*>(decided)->parked; }

Decided* find_decided(ngx_http_request_t* request) {
  for (auto* cleanup = request->main->pool->cleanup; cleanup != nullptr; cleanup = cleanup->next) {
    if (cleanup->handler == forget_decided) return static_cast<Decided*>(cleanup->data);
  }
  return nullptr;
}

Decided* keep_decided(ngx_http_request_t* request) {
  auto* const cleanup = ngx_pool_cleanup_add(request->pool, sizeof(Decided));
  if (cleanup == nullptr) return nullptr;
  ngx_memzero(cleanup->data, sizeof(Decided));
  cleanup->handler = forget_decided;
  return static_cast<Decided*>(cleanup->data);
}

// As rules compare it: what the client asked for, before nginx rewrote anything.
void read_request(ngx_http_request_t* from, DescribedRequest& to) {
  to.headers.clear();
  for (const ngx_list_part_t* part = &from->headers_in.headers.part; part != nullptr;
       part = part->next) {
    for (const auto& header : std::span(static_cast<ngx_table_elt_t*>(part->elts), part->nelts)) {
      to.headers.push_back({.name = view_of(header.key), .value = view_of(header.value)});
    }
  }
  to.request = {
      .method = view_of(from->method_name), .headers = to.headers, .client = client_of(from)};
  set_target(view_of(from->unparsed_uri), view_of(from->headers_in.server), to);
}

// False if nginx could not work out the value. Nothing if the place has none.
bool read_value(ngx_http_request_t* request, ngx_http_complex_value_t* value,
                std::optional<std::string_view>& text) {
  if (value == nullptr) return true;
  ngx_str_t found;
  if (ngx_http_complex_value(request, value, &found) != NGX_OK) return false;
  text = view_of(found);
  return true;
}

bool add_limit_fields(ngx_http_request_t* request, const RateLimit& limit) {
  auto* const room = static_cast<char*>(ngx_pnalloc(request->pool, rate_limit_headers_max(limit)));
  if (room == nullptr) return false;
  const RateLimitFields fields(limit, room, FieldNames::kUsual);
  for (const NameValue& field : fields.fields()) {
    if (!add_field(request, str_of(field.name), str_of(field.value))) return false;
  }
  return true;
}

// The operator answers this status with a page of his own.
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

ngx_int_t deny(ngx_http_request_t* request, const PlaceSettings& place, const Judgement& judgement,
               const Request& described) {
  const Rule& rule = *judgement.ask->rule;
  const auto status =
      rule.denial.status != 0 ? rule.denial.status : static_cast<ngx_int_t>(place.status);
  ngx_log_error(NGX_LOG_INFO, request->connection->log, 0, "weir: rule \"%s\" denies",
                rule.id.c_str());
  const TemplateValues values{.rule = rule.id,
                              .key = judgement.ask->key,
                              .decision = judgement.answer->decision,
                              .request = described};
  const DenialText text(rule.denial, values, static_cast<int>(status));
  for (const NameValue& field : text.fields()) {
    if (!add_field(request, copy_of(field.name, request->pool),
                   copy_of(field.value, request->pool))) {
      return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
  }
  if (has_error_page(request, status)) return status;

  ngx_http_complex_value_t body{};
  body.value = copy_of(text.body(), request->pool);
  ngx_str_t type = copy_of(text.content_type(), request->pool);
  if (body.value.data == nullptr || type.data == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  ngx_http_finalize_request(
      request, ngx_http_send_response(request, static_cast<ngx_uint_t>(status), &type, &body));
  return NGX_DONE;
}

// Keeps what variables say. Texts of the rules live as long as nginx's configuration.
void note(const Judgement& judgement, Switch state, ngx_pool_t* pool, Decided& decided) {
  decided.time_us = epoch_us(judgement.at);
  if (judgement.kind != Judgement::Kind::kDecided) return;
  const Answer& answer = *judgement.answer;
  decided.rule = str_of(judgement.ask->rule->id);
  decided.mode = str_of(mode_name(answer.mode));
  decided.key = copy_of(judgement.ask->key, pool);
  decided.limit = answer.decision.limit;
  decided.remaining = answer.decision.remaining;
  if (answer.decision.verdict == Verdict::kDenied) {
    decided.retry_after_s = std::max<std::int64_t>(1, whole_seconds(answer.decision.retry_after));
  }
  decided.decision = str_of(answer.allowed()           ? "allowed"
                            : state == Switch::kDryRun ? "denied_dry_run"
                                                       : "denied");
}

ngx_int_t act_on(ngx_http_request_t* request, const PlaceSettings& place,
                 const Judgement& judgement, const Request& described) {
  switch (judgement.kind) {
    case Judgement::Kind::kNothing: return NGX_DECLINED;
    case Judgement::Kind::kRepeatedHeader: {
      ngx_str_t field = str_of(judgement.field);
      ngx_log_error(NGX_LOG_INFO, request->connection->log, 0,
                    "weir: header \"%V\" is repeated, and has to say one thing", &field);
      return place.state() == Switch::kDryRun ? NGX_DECLINED : NGX_HTTP_BAD_REQUEST;
    }
    case Judgement::Kind::kTooManyLimits:
      ngx_log_error(NGX_LOG_ERR, request->connection->log, 0,
                    "weir: more than 16 limits apply at once");
      return place.state() == Switch::kDryRun ? NGX_DECLINED : NGX_HTTP_INTERNAL_SERVER_ERROR;
    case Judgement::Kind::kUnavailable:
      return place.state() == Switch::kDryRun ? NGX_DECLINED : NGX_HTTP_SERVICE_UNAVAILABLE;
    case Judgement::Kind::kWaits:
    case Judgement::Kind::kDecided: break;
  }
  if (place.state() == Switch::kDryRun) return NGX_DECLINED;
  if (!add_limit_fields(request, judgement.limit)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  return judgement.is_denied() ? deny(request, place, judgement, described) : NGX_DECLINED;
}

ngx_int_t park(ngx_http_request_t* request, Decided& decided) {
  if (ngx_handle_read_event(request->connection->read, 0) != NGX_OK) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  decided.parked = new ParkedRequest(*the_judge, *the_loop, request);
  return NGX_AGAIN;
}

ngx_int_t judge_request(ngx_http_request_t* request, const PlaceSettings& place) {
  DescribedRequest& described = the_judge->scratch();
  read_request(request, described);
  Question question{.described = described, .rules = place.rules};
  Decided* const decided = keep_decided(request);
  if (decided == nullptr || !read_value(request, place.key, question.key) ||
      !read_value(request, place.tier, question.tier) ||
      !read_value(request, place.cost, question.cost)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  const Judgement judgement = the_judge->judge(question);
  if (the_loop != nullptr) the_loop->has_asked();
  if (judgement.kind == Judgement::Kind::kWaits) return park(request, *decided);
  note(judgement, place.state(), request->pool, *decided);
  return act_on(request, place, judgement, described.request);
}

// Phases may run again while it waits.
ngx_int_t go_on(ngx_http_request_t* request, const PlaceSettings& place, Decided& decided) {
  if (decided.parked == nullptr) return NGX_DECLINED;
  if (!decided.parked->is_decided()) return NGX_AGAIN;
  const std::unique_ptr<ParkedRequest> parked(std::exchange(decided.parked, nullptr));
  DescribedRequest& described = the_judge->scratch();
  read_request(request, described);
  const Judgement judgement = parked->judgement();
  note(judgement, place.state(), request->pool, decided);
  return act_on(request, place, judgement, described.request);
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
    case Variable::kKeyHash:
      if (!has_rule || the_judge == nullptr) return {};
      return write_number(request, the_judge->key_hash(view_of(decided.rule), view_of(decided.key)),
                          16);
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
  const sockaddr* const address = request->connection->sockaddr;
  if (address->sa_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&v4->sin_addr);
    return IpAddress::v4(std::span<const std::uint8_t, 4>(bytes, 4));
  }
  if (address->sa_family == AF_INET6) {
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address);
    return IpAddress::v6(std::span<const std::uint8_t, 16>(v6->sin6_addr.s6_addr, 16));
  }
  return std::nullopt;  // a Unix socket
}

bool add_field(ngx_http_request_t* request, ngx_str_t name, ngx_str_t value) {
  if (name.data == nullptr || value.data == nullptr) return false;
  auto* const field = static_cast<ngx_table_elt_t*>(ngx_list_push(&request->headers_out.headers));
  if (field == nullptr) return false;
  *field = {};
  field->hash = 1;
  field->key = name;
  field->value = value;
  return true;
}

void use_judge(Judge* judge, WorkerLoop* loop) {
  the_judge = judge;
  the_loop = loop;
}

ngx_int_t handle_request(ngx_http_request_t* request) noexcept {
  const auto& place =
      *static_cast<PlaceSettings*>(ngx_http_get_module_loc_conf(request, ngx_http_weir_module));
  if (place.state() == Switch::kOff || request != request->main) return NGX_DECLINED;
  try {
    Decided* const decided = find_decided(request);
    return decided != nullptr ? go_on(request, place, *decided) : judge_request(request, place);
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
