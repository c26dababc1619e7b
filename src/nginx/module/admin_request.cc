// Places with `weir_admin`: hands requests to the pages, and their replies to nginx. Tested by
// tests/nginx/admin_test.py.

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/late_reply.h"
#include "nginx/admin.h"
#include "nginx/module/decided.h"
#include "nginx/module/request.h"
#include "nginx/module/request_body.h"
#include "nginx/module/settings.h"
#include "proto/input_buffer.h"
#include "server/http/http_session.h"

namespace weir::nginx {
namespace {

Admin* used_admin = nullptr;

// The name of the location.
std::string_view place_of(ngx_http_request_t* request) {
  const auto* const core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
  std::string_view name = view_of(core->name);
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

// The rest of the target behind it; empty if the client has spelled the location otherwise.
std::string target_of(ngx_http_request_t* request) {
  const std::string_view place = place_of(request);
  std::string_view target = view_of(request->unparsed_uri);
  if (!target.starts_with(place)) return {};
  target.remove_prefix(place.size());
  if (target.empty() || target.front() == '?') return "/" + std::string(target);
  return target.front() == '/' ? std::string(target) : std::string();
}

// A request for a page, from its body to its reply, in the memory of nginx's request.
class Page final : ReplyLine, Waker, public Waiting {
 public:
  explicit Page(ngx_http_request_t* request) : judge_(*deciders.judge), request_(request) {}

  // NGX_DONE: the reply comes later.
  ngx_int_t answer() {
    switch (read_body(request_, body_, HttpSession::kBodyMax)) {
      case BodyRead::kWhole: break;
      case BodyRead::kLonger: return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
      case BodyRead::kUnreadable: return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    target_ = target_of(request_);
    if (target_.empty()) return NGX_HTTP_NOT_FOUND;
    read_headers(request_, fields_);
    const std::size_t size = body_.size();
    body_.resize(size + InputBuffer::kPadding);
    used_admin->answer({.method = view_of(request_->method_name),
                        .place = place_of(request_),
                        .target = target_,
                        .fields = fields_,
                        .body = {.text = body_.data(), .size = size, .readable = body_.size()},
                        .client = client_of(request_)},
                       *this, zone_clock().now());
    if (deciders.loop != nullptr) deciders.loop->has_asked();
    return result_;
  }

 private:
  // The client may ask another worker as soon as it has the reply.
  void add(const Reply& reply, const ReplyTerms&) override {
    judge_.blocks().tell(zone_clock().now());
    result_ = send(reply);
  }
  bool waits() const override { return false; }

  void park(std::unique_ptr<LateReply<ReplySink>> late, Instant) override {
    if (deciders.loop == nullptr) return;  // no timer would ring
    if (ngx_handle_read_event(request_->connection->read, 0) != NGX_OK) return;
    watch_.emplace(*deciders.loop, request_);
    late_ = std::move(late);
    late_->attach(*this);
    result_ = NGX_DONE;
  }
  void wake() noexcept override { judge_.due().wake(*this); }

  // The request may end here, and its memory with it.
  void resume() override {
    ngx_connection_t* const connection = request_->connection;
    ngx_http_set_log_request(connection->log, request_);
    if (!late_->write(*this, zone_clock().now())) return;
    watch_.reset();
    request_->read_event_handler = ngx_http_block_reading;
    ngx_http_finalize_request(request_, result_);
    ngx_http_run_posted_requests(connection);
  }

  ngx_int_t send(const Reply& reply) {
    if (reply.limit != nullptr && !add_limit_fields(request_, *reply.limit)) return NGX_ERROR;
    if (!add_fields(request_, reply.fields)) return NGX_ERROR;
    return send_text(request_, reply.status, copy_of(reply.content_type, request_->pool),
                     copy_of(reply.body, request_->pool));
  }

  Judge& judge_;
  ngx_http_request_t* const request_;
  std::string body_;
  std::string target_;
  std::vector<NameValue> fields_;
  ngx_int_t result_ = NGX_HTTP_INTERNAL_SERVER_ERROR;
  std::optional<ClientWatch> watch_;
  std::unique_ptr<LateReply<ReplySink>> late_;
};

// Null: nginx has no memory.
Page* keep_page(ngx_http_request_t* request) {
  auto* const cleanup = ngx_pool_cleanup_add(request->pool, sizeof(Page));
  if (cleanup == nullptr) return nullptr;
  auto* const page = new (cleanup->data) Page(request);
  cleanup->handler = [](void* data) { static_cast<Page*>(data)->~Page(); };
  return page;
}

void answer_page(ngx_http_request_t* request) noexcept {
  ngx_int_t result = NGX_HTTP_INTERNAL_SERVER_ERROR;
  try {
    Page* const page = used_admin == nullptr ? nullptr : keep_page(request);
    if (page != nullptr) result = page->answer();
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_ERR, request->connection->log, 0, "weir: %s", error.what());
  }
  if (result != NGX_DONE) ngx_http_finalize_request(request, result);
}

}  // namespace

void use_admin(Admin* admin) { used_admin = admin; }

ngx_int_t show_admin(ngx_http_request_t* request) noexcept {
  const ngx_int_t result = ngx_http_read_client_request_body(request, answer_page);
  return result >= NGX_HTTP_SPECIAL_RESPONSE ? result : NGX_DONE;
}

}  // namespace weir::nginx
