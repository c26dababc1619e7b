#include "nginx/module/admin_request.h"

#include <charconv>
#include <exception>
#include <span>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "nginx/module/request.h"
#include "nginx/module/settings.h"
#include "server/http/http_session.h"

namespace weir::nginx {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// What nginx has already dealt with, or does itself.
constexpr std::string_view kOwnFields[] = {"Connection", "Content-Length", "Transfer-Encoding",
                                           "Expect",     "Upgrade",        "Keep-Alive"};
constexpr std::string_view kOwnReplyFields[] = {"Connection", "Content-Length", "Date"};

Admin* the_admin = nullptr;

template <std::size_t N>
bool is_among(const std::string_view (&names)[N], std::string_view name) {
  for (const auto each : names) {
    if (equal_ignoring_case(each, name)) return true;
  }
  return false;
}

std::string fields_of(const ngx_http_request_t* request) {
  std::string fields;
  for (const ngx_list_part_t* part = &request->headers_in.headers.part; part != nullptr;
       part = part->next) {
    for (const auto& header : std::span(static_cast<ngx_table_elt_t*>(part->elts), part->nelts)) {
      if (is_among(kOwnFields, view_of(header.key))) continue;
      fields.append(view_of(header.key)).append(": ").append(view_of(header.value));
      fields.append(kLineEnd);
    }
  }
  return fields;
}

// nginx puts a long one into a file. The status of a refusal, else NGX_OK.
ngx_int_t read_body(const ngx_http_request_t* request, std::string& body) {
  if (request->request_body == nullptr) return NGX_OK;
  for (const ngx_chain_t* link = request->request_body->bufs; link != nullptr; link = link->next) {
    ngx_buf_t* const part = link->buf;
    const std::size_t before = body.size();
    const auto size = static_cast<std::size_t>(ngx_buf_size(part));
    if (size > HttpSession::kBodyMax - before) return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    if (size == 0) continue;
    if (ngx_buf_in_memory(part)) {
      body.append(reinterpret_cast<const char*>(part->pos), size);
      continue;
    }
    body.resize(before + size);
    auto* const room = reinterpret_cast<u_char*>(body.data()) + before;
    const ssize_t read = ngx_read_file(part->file, room, size, part->file_pos);
    if (read != static_cast<ssize_t>(size)) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  return NGX_OK;
}

// The location's own name.
std::string_view place_of(ngx_http_request_t* request) {
  const auto* const core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(request, ngx_http_core_module));
  std::string_view name = view_of(core->name);
  if (name.ends_with('/')) name.remove_suffix(1);
  return name;
}

// What follows it; empty if the client has spelled that otherwise.
std::string target_of(ngx_http_request_t* request) {
  const std::string_view place = place_of(request);
  std::string_view target = view_of(request->unparsed_uri);
  if (!target.starts_with(place)) return {};
  target.remove_prefix(place.size());
  if (target.empty() || target.front() == '?') return "/" + std::string(target);
  return target.front() == '/' ? std::string(target) : std::string();
}

// Takes "Name: value" for a field of the response.
bool add_line(ngx_http_request_t* request, std::string_view line) {
  const auto colon = line.find(": ");
  if (colon == std::string_view::npos) return true;
  const auto name = line.substr(0, colon);
  const auto value = line.substr(colon + 2);
  if (is_among(kOwnReplyFields, name)) return true;
  if (name == "Content-Type") {
    request->headers_out.content_type = copy_of(value, request->pool);
    request->headers_out.content_type_len = value.size();
    return request->headers_out.content_type.data != nullptr;
  }
  return add_field(request, copy_of(name, request->pool), copy_of(value, request->pool));
}

ngx_int_t send(ngx_http_request_t* request, std::string_view reply) {
  const auto head_end = reply.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  std::string_view head = reply.substr(0, head_end + kLineEnd.size());
  const std::string_view body = reply.substr(head_end + 2 * kLineEnd.size());

  unsigned status = 0;
  std::from_chars(head.data() + std::string_view("HTTP/1.1 ").size(), head.data() + head.size(),
                  status);
  request->headers_out.status = status;
  for (head.remove_prefix(head.find(kLineEnd) + kLineEnd.size()); !head.empty();) {
    const auto end = head.find(kLineEnd);
    if (!add_line(request, head.substr(0, end))) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    head.remove_prefix(end + kLineEnd.size());
  }
  request->headers_out.content_length_n = static_cast<off_t>(body.size());
  if (body.empty()) request->header_only = 1;
  const ngx_int_t sent = ngx_http_send_header(request);
  if (sent == NGX_ERROR || sent > NGX_OK || request->header_only != 0) return sent;

  auto* const buffer = ngx_create_temp_buf(request->pool, body.size());
  if (buffer == nullptr) return NGX_ERROR;
  buffer->last = ngx_cpymem(buffer->pos, body.data(), body.size());
  buffer->last_buf = 1;
  buffer->last_in_chain = 1;
  ngx_chain_t out{buffer, nullptr};
  return ngx_http_output_filter(request, &out);
}

ngx_int_t answer(ngx_http_request_t* request) {
  std::string body;
  if (const ngx_int_t refusal = read_body(request, body); refusal != NGX_OK) return refusal;
  const std::string target = target_of(request);
  if (target.empty()) return NGX_HTTP_NOT_FOUND;
  const std::string fields = fields_of(request);
  return send(request, the_admin->answer({.method = view_of(request->method_name),
                                          .place = place_of(request),
                                          .target = target,
                                          .fields = fields,
                                          .body = body,
                                          .client = client_of(request)},
                                         zone_clock().now()));
}

void go_on_with_body(ngx_http_request_t* request) noexcept {
  ngx_int_t result = NGX_HTTP_INTERNAL_SERVER_ERROR;
  try {
    if (the_admin != nullptr) result = answer(request);
  } catch (const std::exception& error) {
    ngx_log_error(NGX_LOG_ERR, request->connection->log, 0, "weir: %s", error.what());
  }
  ngx_http_finalize_request(request, result);
}

}  // namespace

void use_admin(Admin* admin) { the_admin = admin; }

ngx_int_t show_admin(ngx_http_request_t* request) noexcept {
  const ngx_int_t result = ngx_http_read_client_request_body(request, go_on_with_body);
  return result >= NGX_HTTP_SPECIAL_RESPONSE ? result : NGX_DONE;
}

}  // namespace weir::nginx
