#include "nginx/module/request_body.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "nginx/module/request.h"

namespace weir::nginx {
namespace {

void go_on_with_body(ngx_http_request_t* request) noexcept {
  find_decided(request)->body = Decided::Body::kRead;
  request->preserve_body = 1;  // for a location to which nginx redirects
  request->write_event_handler = ngx_http_core_run_phases;
  ngx_http_core_run_phases(request);
}

}  // namespace

bool has_plain_body(const ngx_http_request_t* request) {
  if (request->headers_in.content_length_n <= 0 && request->headers_in.chunked == 0) return false;
  bool is_plain = true;
  for_each_header(request, [&](const ngx_table_elt_t& header) {
    if (!equal_ignoring_case(view_of(header.key), "Content-Encoding")) return;
    is_plain = is_plain && equal_ignoring_case(view_of(header.value), "identity");
  });
  return is_plain;
}

ngx_int_t await_body(ngx_http_request_t* request, Decided& decided) {
  decided.body = Decided::Body::kAwaited;
  const ngx_int_t result = ngx_http_read_client_request_body(request, go_on_with_body);
  if (result >= NGX_HTTP_SPECIAL_RESPONSE) return result;
  ngx_http_finalize_request(request, NGX_DONE);  // takes back one reference
  return NGX_DONE;
}

BodyRead read_body(const ngx_http_request_t* request, std::string& to, std::size_t most) {
  const ngx_chain_t* link =
      request->request_body == nullptr ? nullptr : request->request_body->bufs;
  for (; link != nullptr; link = link->next) {
    const ngx_buf_t& piece = *link->buf;
    const auto size = static_cast<std::size_t>(std::max<off_t>(0, ngx_buf_size(&piece)));
    const std::size_t before = to.size();
    const std::size_t part = std::min(size, most - before);
    if (ngx_buf_in_memory(&piece)) {
      to.append(reinterpret_cast<const char*>(piece.pos), part);
    } else if (part > 0) {
      to.resize(before + part);
      auto* const room = reinterpret_cast<u_char*>(to.data() + before);
      const ssize_t read = ngx_read_file(piece.file, room, part, piece.file_pos);
      if (read != static_cast<ssize_t>(part)) return BodyRead::kUnreadable;
    }
    if (part < size) return BodyRead::kLonger;
  }
  return BodyRead::kWhole;
}

BodyStart start_of_body(const ngx_http_request_t* request) {
  static std::string room;
  room.clear();
  const BodyRead read = read_body(request, room, BodyStart::kBytesMax);
  if (read == BodyRead::kUnreadable) room.clear();
  return {.bytes = room, .is_whole = read == BodyRead::kWhole, .path = view_of(request->uri)};
}

}  // namespace weir::nginx
