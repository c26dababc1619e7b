// LateAsks: a late reply that is due when asks are decided.
//
// Thread rule: one core. Tested by src/server/http/http_wait_test.cc,
// src/server/resp/resp_wait_test.cc and src/server/grpc/grpc_wait_test.cc.

#pragma once

#include "base/late_reply.h"
#include "engine/asks.h"

namespace weir {

template <typename Out>
class LateAsks : public LateReply<Out>, protected Asks::Listener {
 private:
  void decided() noexcept final { this->due(); }
};

}  // namespace weir
