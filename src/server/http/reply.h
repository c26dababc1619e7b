// Reply: the answer to one HTTP request as a value, which each protocol writes in its way.
//
// Thread rule: values that refer to texts elsewhere; one core. Tested by
// http_session_test.cc and http2_api_test.cc.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/late_reply.h"
#include "base/name_value.h"
#include "observe/core_slots.h"
#include "proto/http/http_date.h"
#include "proto/http/rate_limit_headers.h"
#include "weir/time.h"

namespace weir {

// The place of a route among those of the door (routes.h).
using RouteId = std::uint8_t;
inline constexpr std::size_t kRoutesMax = 40;
inline constexpr RouteId kNoRoute = kRoutesMax;  // no such path, or no request at all

inline constexpr std::array<std::string_view, 4> kStatusClassNames = {"2xx", "3xx", "4xx", "5xx"};

// Their places in the row of counters.
inline constexpr std::size_t kHttpOpened = 0;  // connections, ever
inline constexpr std::size_t kHttpClosed = 1;
inline constexpr std::size_t kHttpRequests = 2;
// REQUIRES: 200 <= status < 600
constexpr std::size_t http_requests(std::size_t route, int status) {
  return kHttpRequests + route * kStatusClassNames.size() +
         static_cast<std::size_t>(status / 100 - 2);
}

// How many HTTP requests were answered, by route and class of status, and how many connections
// there were. Tested by admin/http_pages_test.cc.
using HttpCounts = CoreCounters<http_requests(kNoRoute + 1, 200)>;

// For Reply::fields of a page that differs the next time.
inline constexpr std::array<NameValue, 1> kNoStore = {{{"Cache-Control", "no-store"}}};
// The same, with a form of the client's choice.
inline constexpr std::array<NameValue, 2> kNegotiated = {{kNoStore[0], {"Vary", "Accept"}}};

struct Reply {
  int status = 200;
  std::string_view content_type = "application/json";  // empty: there is no body
  const RateLimit* limit = nullptr;                    // the limit that it tells of
  std::span<const NameValue> fields{};                 // further ones
  std::string_view body{};
  // How long the body's text is there: a constant one is not copied.
  enum class Lifetime : std::uint8_t { kCall, kProgram } lifetime = Lifetime::kCall;
};

// The connection after a reply.
enum class AfterReply : std::uint8_t {
  kStay,     // HTTP/1.1 stays open without saying so
  kSayStay,  // an HTTP/1.0 client must be told
  kClose,
};

enum class SendBody : std::uint8_t { kYes, kNo };  // kNo: the answer to HEAD

struct ReplyTerms {
  const HttpDate& date;
  AfterReply after = AfterReply::kStay;
  SendBody send_body = SendBody::kYes;
};

// Statuses whose replies have no body, and say nothing of one.
constexpr bool has_no_body(int status) { return status == 101 || status == 204 || status == 304; }

// The destination of a reply.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void add(const Reply& reply, const ReplyTerms& terms) = 0;
  // The connection closes behind the reply that is written now.
  virtual bool closes() const { return false; }
};

// The destination of the reply to the request that is handled now: others may come before it.
class ReplyLine : public ReplySink {
 public:
  using Out = ReplySink;

  Out& end() { return *this; }
  // Keeps the place of a reply that comes later.
  virtual void park(std::unique_ptr<LateReply<ReplySink>> late, Instant now) = 0;
  // A reply before this one has not been written yet.
  virtual bool waits() const = 0;
};

// The destination and form of a reply. Small: it outlives the request if the reply comes later.
struct Recipient {
  ReplySink* out = nullptr;
  Instant now{};
  RouteId route = kNoRoute;
  AfterReply after = AfterReply::kStay;
  SendBody send_body = SendBody::kYes;

  // The same, for a reply that is written to `sink`.
  Recipient at(ReplySink& sink, Instant then) const {
    return {.out = &sink,
            .now = then,
            .route = route,
            .after = sink.closes() ? AfterReply::kClose : after,
            .send_body = send_body};
  }
};

}  // namespace weir
