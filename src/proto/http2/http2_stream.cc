#include "proto/http2/http2_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/ascii.h"
#include "base/assert.h"
#include "proto/http/host.h"
#include "proto/http2/http2_session.h"

namespace weir {
namespace {

// A free stream keeps at most this much of each buffer.
constexpr std::size_t kKeptMax = 4 << 10;

// Most heads fit into this.
constexpr std::size_t kHeadRoom = 512;

void clear_text(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptMax) text.shrink_to_fit();
}

nghttp2_nv to_nv(std::string_view name, std::string_view value, int flags) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // it is only read
  };
  return {.name = bytes(name),
          .value = bytes(value),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = static_cast<std::uint8_t>(flags)};
}

constexpr int kNoCopy = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;

constexpr int kStatusMin = 100;
constexpr int kStatusEnd = 600;
constexpr auto kStatusTexts = [] {
  std::array<char, 3 * (kStatusEnd - kStatusMin)> texts{};
  char* at = texts.data();
  for (int status = kStatusMin; status < kStatusEnd; ++status) {
    for (const int digit : {status / 100, status / 10 % 10, status % 10}) {
      *at++ = static_cast<char>('0' + digit);
    }
  }
  return texts;
}();

// "200"
std::string_view status_text(int status) {
  WEIR_ASSERT(status >= kStatusMin && status < kStatusEnd);
  return {kStatusTexts.data() + 3 * (status - kStatusMin), 3};
}

}  // namespace

std::string_view Http2Stream::field(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Http2Field::name);
  return found == fields_.end() ? std::string_view() : found->value;
}

const std::optional<IpAddress>& Http2Stream::peer() const { return session_->peer_.address; }

void Http2Stream::open(Http2Session& session, std::int32_t id) {
  session_ = &session;
  id_ = id;
}

void Http2Stream::retire() {
  session_ = nullptr;
  service_ = nullptr;
  for (std::string* text : {&body_, &answer_}) clear_text(*text);
  if (head_.size() > kKeptMax) head_ = {};
  constant_ = {};
  sizes_.clear();
  fields_.clear();
  trailers_.clear();
  method_ = path_ = authority_ = {};
  head_size_ = sent_ = held_ = 0;
  deadline_ = expires_at_ = Instant::max();
  is_kept_open_ = false;
  head_too_long_ = has_bad_field_ = is_complete_ = is_begun_ = is_finished_ = is_deferred_ = false;
  late_.reset();
}

void Http2Stream::park(std::unique_ptr<LateReply<Http2Stream>> late) {
  late_ = std::move(late);
  late_->attach(*this);
}

void Http2Stream::wake() noexcept { session_->waker_->wake(); }

void Http2Stream::add_field(std::string_view name, std::string_view value) {
  constexpr std::size_t kOverhead = 32;  // RFC 9113, 6.5.2: what a field counts apart from its text
  const std::size_t size = head_size_ + sizes_.size() * kOverhead;
  head_too_long_ =
      head_too_long_ || size + name.size() + value.size() + kOverhead > Http2Session::kHeadMax;
  if (head_too_long_) return;
  const std::size_t end = head_size_ + name.size() + value.size();
  if (end > head_.size()) {
    if (end > kKeptMax) session_->hold(*this, 2 * end - head_.size());
    head_.resize(std::max(kHeadRoom, 2 * end));
  }
  std::memcpy(head_.data() + head_size_, name.data(), name.size());
  std::memcpy(head_.data() + head_size_ + name.size(), value.data(), value.size());
  head_size_ = end;
  sizes_.push_back({.name = static_cast<std::uint32_t>(name.size()),
                    .value = static_cast<std::uint32_t>(value.size())});
}

// Sets the views, now that head_ does not move any more.
void Http2Stream::close_head() {
  std::string_view rest = head_;
  for (const FieldSize& size : sizes_) {
    const std::string_view name = rest.substr(0, size.name);
    const std::string_view value = rest.substr(size.name, size.value);
    rest.remove_prefix(size.name + size.value);
    if (name.front() != ':') {
      fields_.push_back({.name = name, .value = value});
    } else if (name == ":method") {
      method_ = value;
    } else if (name == ":path") {
      path_ = value;
    } else if (name == ":authority") {
      authority_ = value;
    }
  }
  if (!authority_.empty() && field("host").empty()) {
    fields_.push_back({.name = "host", .value = authority_});
  }
}

bool Http2Stream::names_one_host() const {
  const std::string_view host = field("host");
  return is_host(host) && (authority_.empty() || equal_ignoring_case(host, authority_));
}

void Http2Stream::append_body(std::string_view bytes) {
  const std::size_t room = body_.size() + bytes.size() + kBodyPadding;
  if (room > body_.capacity()) body_.reserve(std::max(room, 2 * body_.capacity()));
  body_.append(bytes);
  session_->arriving_ += bytes.size();
  session_->hold(*this, bytes.size());
}

void Http2Stream::consume(std::size_t size) {
  WEIR_ASSERT(size <= body().size());
  body_.erase(0, size);
  if (!is_complete_) session_->arriving_ -= size;
  session_->unhold(*this, size);
}

void Http2Stream::begin(int status, std::span<const Http2Field> fields) {
  submit(status, fields, Texts::kConstant, HasBody::kYes);
}

void Http2Stream::answer(int status, std::span<const Http2Field> fields, std::string_view body) {
  submit(status, fields, Texts::kCopied, body.empty() ? HasBody::kNo : HasBody::kYes);
  if (!body.empty()) std::memcpy(append(body.size()), body.data(), body.size());
  finish({});
}

void Http2Stream::answer_constant(int status, std::span<const Http2Field> fields,
                                  std::string_view body) {
  constant_ = body;
  submit(status, fields, Texts::kCopied, body.empty() ? HasBody::kNo : HasBody::kYes);
  finish({});
}

void Http2Stream::submit(int status, std::span<const Http2Field> fields, Texts texts,
                         HasBody has_body) {
  WEIR_ASSERT(!is_begun_ && fields.size() <= kAnswerFieldsMax);
  is_begun_ = true;
  if (!is_complete_) ++session_->answered_early_;
  std::array<nghttp2_nv, kAnswerFieldsMax + 1> head;
  head[0] = to_nv(":status", status_text(status), kNoCopy);
  const int flags = texts == Texts::kConstant ? kNoCopy : NGHTTP2_NV_FLAG_NONE;
  std::ranges::transform(fields, head.begin() + 1, [&](const Http2Field& field) {
    return to_nv(field.name, field.value, flags);
  });
  nghttp2_data_provider body{};
  body.source.ptr = this;
  body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* space, std::size_t size,
                          std::uint32_t* read_flags, nghttp2_data_source* source, void*) {
    return static_cast<Http2Stream*>(source->ptr)->read({space, size}, *read_flags);
  };
  session_->require(nghttp2_submit_response(session_->nghttp2_.get(), id_, head.data(),
                                            fields.size() + 1,
                                            has_body == HasBody::kYes ? &body : nullptr));
  allow(session_->now_ + Http2Session::kStalledMax);
}

char* Http2Stream::append(std::size_t size) {
  WEIR_ASSERT(is_begun_ && !is_finished_);
  const std::size_t before = answer_.size();
  if (is_kept_open_ && waiting() == 0) allow(session_->now_ + Http2Session::kStalledMax);
  answer_.resize(before + size);
  session_->hold(*this, size);
  go_on();
  return answer_.data() + before;
}

void Http2Stream::finish(std::span<const Http2Field> trailers) {
  WEIR_ASSERT(is_begun_ && !is_finished_ && trailers.size() <= kAnswerFieldsMax);
  is_finished_ = true;
  trailers_.assign(trailers.begin(), trailers.end());
  allow(session_->now_ + Http2Session::kStalledMax);
  go_on();
}

void Http2Stream::keep_open() {
  is_kept_open_ = true;
  allow(Instant::max());
}

void Http2Stream::expire_at(Instant deadline) {
  expires_at_ = std::min(expires_at_, deadline);
  session_->next_expiry_ = std::min(session_->next_expiry_, deadline);
  allow(deadline_);
}

// Allows time until then, but not beyond the client's limit.
void Http2Stream::allow(Instant deadline) {
  session_->set_deadline(*this, std::min(deadline, expires_at_));
}

void Http2Stream::go_on() {
  if (!is_deferred_) return;
  is_deferred_ = false;
  session_->require(nghttp2_session_resume_data(session_->nghttp2_.get(), id_));
}

ssize_t Http2Stream::read(std::span<std::uint8_t> space, std::uint32_t& flags) {
  const std::size_t size = std::min(space.size(), waiting());
  std::memcpy(space.data(), answer_text().data() + sent_, size);
  sent_ += size;
  if (constant_.empty()) session_->unhold(*this, size);
  const bool may_rest = is_kept_open_ && !is_finished_ && waiting() == 0;
  if (size > 0) allow(may_rest ? Instant::max() : session_->now_ + Http2Session::kStalledMax);
  if (waiting() == 0) {
    if (is_finished_) {
      flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!trailers_.empty()) {
        flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_trailers();
      }
    } else if (size == 0) {
      is_deferred_ = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    answer_.clear();
    constant_ = {};
    sent_ = 0;
  }
  return static_cast<ssize_t>(size);
}

void Http2Stream::submit_trailers() {
  std::array<nghttp2_nv, kAnswerFieldsMax> fields;
  std::ranges::transform(trailers_, fields.begin(), [](const Http2Field& field) {
    return to_nv(field.name, field.value, kNoCopy);
  });
  session_->require(
      nghttp2_submit_trailer(session_->nghttp2_.get(), id_, fields.data(), trailers_.size()));
}

}  // namespace weir
