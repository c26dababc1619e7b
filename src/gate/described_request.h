// DescribedRequest: a request on its way to an origin, as rules look at it.
//
// Thread rule: one thread. Tested by tests/scenarios/http_auth.yaml and tests/nginx.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/name_value.h"
#include "rules/request/request.h"
#include "rules/request/request_path.h"
#include "rules/rule_set.h"

namespace weir {

// A request that a proxy or a person describes, with the memory for what has to be rewritten
// or worked out; reused.
struct DescribedRequest {
  Request request;
  PathReadings paths;
  std::string host;
  std::vector<NameValue> headers;
  MatchScratch match;
};

// What a request is for, as rules compare it. `uri` is path and query, `host` may have a
// port. The request views both. False: the path has too many readings, and Weir refuses it.
bool set_target(std::string_view uri, std::string_view host, DescribedRequest& described);
// One of them, for rules that need no more (RequestNeeds).
bool set_uri(std::string_view uri, DescribedRequest& described);
void set_host(std::string_view host, DescribedRequest& described);

}  // namespace weir
