// Feeds bytes to the admin routes, as bodies: what they mean is done, or explained in a problem
// document. Who is blocked can be listed afterwards, and no tenant is changed without its key. As a
// query they ask for denials, as If-Match they have no tag that is not there.

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/percent.h"
#include "server/http/admin/if_match.h"
#include "server/http/http_test_door.h"

namespace weir {
namespace {

namespace json = boost::json;

TestDoor::Options options() {
  const auto quota = Quota::make({.limit = 5, .window = std::chrono::minutes(1)});
  return {.rules = {{.id = "login", .quota = *quota}}, .access = {}, .key_texts = KeyTexts::kShown};
}

std::string denials_of(std::string_view query) {
  return "/admin/denials?" +
         percent_encoded(query, [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

json::value parse(const TestReply& reply) {
  json::error_code error;
  json::value value = json::parse(reply.body, error);
  WEIR_ASSERT(!error);
  return value;
}

void ask(TestDoor& door, std::string_view method, std::string_view path, std::string_view body) {
  const TestReply reply = door.ask(request(method, path, body));
  const json::value page = parse(reply);
  if (reply.status == 200) return;
  WEIR_ASSERT(reply.status == 400 || reply.status == 404 || reply.status == 413 ||
              reply.status == 414 || reply.status == 431);
  WEIR_ASSERT(page.at("status") == reply.status);
  WEIR_ASSERT(!page.at("detail").as_string().empty());
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static TestDoor door(options());  // to make one takes longer than all the rest
  const NameValue field{"If-Match", body};
  const IfMatch match = read_if_match({&field, 1}, "3-9");
  WEIR_ASSERT(!match.tag || body.find('"' + *match.tag + '"') != body.npos);
  ask(door, "POST", "/admin/blocks", body);
  WEIR_ASSERT(parse(door.ask(get("/admin/blocks"))).at("total") == door.blocks.size());
  ask(door, "DELETE", "/admin/blocks", body);
  ask(door, "PATCH", "/admin/rules/login", body);
  for (const std::string_view method : {"POST", "PUT", "DELETE"}) {
    for (const std::string_view path : {"/admin/tenant", "/admin/tenants/ann"}) {
      if (method == "POST" && path != "/admin/tenant") continue;
      door.tenants.last = {};
      ask(door, method, path, body);
      const TenantChange& change = door.tenants.last;
      if (change.who.empty()) continue;  // it was refused
      WEIR_ASSERT(!change.key.empty() && method != "POST");
      WEIR_ASSERT(path == "/admin/tenant" || change.key == "ann");
    }
  }
  door.engine.traffic().record_denial({.at = door.now, .key_hash = size}, {body, body, body});
  ask(door, "GET", denials_of(body), "");
  for (const Block& block : door.blocks.list("", BlockList::kBlocksMax, door.now)) {
    door.blocks.lift(block.rule, block.key, door.now);
  }
  return 0;
}
