// GET /openapi.json. The document is openapi.json in this folder, put into the program
// by CMakeLists.txt; openapi_test.cc holds it against the code.

#include "server/http/admin/admin_routes.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr std::string_view kDocument =
#include "server/http/admin/openapi_json.inc"
    ;

}  // namespace

void add_openapi_page(HttpCore& core) {
  core.routes().add({{http1::Method::kGet},
                     "/openapi.json",
                     RouteAccess::kAnybody,
                     [&core](const Exchange& exchange) {
                       core.reply(exchange,
                                  {.body = kDocument, .lifetime = Reply::Lifetime::kProgram});
                     }});
}

}  // namespace weir
