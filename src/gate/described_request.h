// DescribedRequest: a request on its way to an origin, in the form that rules read.
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

// A request as a proxy or a person describes it, with memory for the parts that are rewritten or
// computed. It is reused.
struct DescribedRequest {
  Request request;
  PathReadings paths;
  std::string host;
  std::vector<NameValue> headers;
  MatchScratch match;
};

// Sets the target of a request for rules to compare. `uri` is path and query; `host` may have a
// port. The request views both. Returns false if the path has too many readings: Weir refuses it.
bool set_target(std::string_view uri, std::string_view host, DescribedRequest& described);
// Sets only the URI, for rules that need no more (RequestNeeds).
bool set_uri(std::string_view uri, DescribedRequest& described);
void set_host(std::string_view host, DescribedRequest& described);

}  // namespace weir
