// Asks the pages as nginx does, for tests.
//
// Thread rule: one thread. Tested with its users, admin_test.cc first.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "nginx/admin.h"
#include "proto/input_buffer.h"
#include "server/http/replies.h"

namespace weir::nginx {

inline const std::vector<NameValue> kFromHere = {{"Host", "localhost"},
                                                 {"Content-Type", "application/json"}};

// The reply as HTTP/1.1 text. `request` comes without its body.
inline std::string ask_page(Admin& admin, Admin::Request request, std::string body, Instant now) {
  class Line final : public ReplyLine {
   public:
    void add(const Reply& reply, const ReplyTerms& terms) override { replies.add(reply, terms); }
    void park(std::unique_ptr<LateReply<ReplySink>>, Instant) override {}
    bool waits() const override { return false; }

    Replies replies;
  };
  const std::size_t size = body.size();
  body.resize(size + InputBuffer::kPadding);
  request.body = {.text = body.data(), .size = size, .readable = body.size()};
  Line line;
  admin.answer(request, line, now);
  return std::string(line.replies.view());
}

}  // namespace weir::nginx
