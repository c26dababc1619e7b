// GET /openapi.json. The document is openapi.json in this folder, put into the program
// by CMakeLists.txt; openapi_test.cc holds it against the code.

#include "server/http/handlers.h"
#include "server/http/http_core.h"

namespace weir {
namespace {

constexpr std::string_view kDocument =
#include "server/http/admin/openapi_json.inc"
    ;

}  // namespace

void handle_openapi(HttpCore& core, Exchange& exchange) {
  core.reply(exchange, {.body = kDocument, .lifetime = Reply::Lifetime::kProgram});
}

}  // namespace weir
