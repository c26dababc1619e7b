#include "replay/left_out.h"

#include <utility>

namespace weir::lab {
namespace {

class Needs {
 public:
  Needs(const RequestSources& sources, const LogKnows& knows) : sources_(sources), knows_(knows) {}

  void look_at(const RequestMatch& match) {
    if (!match.hosts.empty() && !knows_.host) lacks("the host");
    if (!match.countries.empty()) need_country();
    if (!match.parameters.empty() && !knows_.query) lacks("the query");
    if (!match.cookies.empty()) need_header("Cookie");
    if (!match.claims.empty() || !match.unverified_claims.empty()) {
      need_header(sources_.token_header);
    }
    for (const PropertyMatch& header : match.headers) need_header(header.name);
  }

  void look_at(const KeyPart& part) {
    using enum KeyPart::Property;
    if (part.property == kHost && !knows_.host) lacks("the host");
    if (part.property == kQuery && !knows_.query) lacks("the query");
    if (part.property == kCountry) need_country();
    if (part.property == kHeader) need_header(part.name);
    if (part.property == kCookie) need_header("Cookie");
    if (part.property == kClaim) need_header(sources_.token_header);
  }

  void look_at(const ResponseCount& response) {
    if (!response.statuses.empty() && !knows_.status) lacks("the status");
    if (!response.cost_header.empty())
      lacks("the header " + response.cost_header + " of responses");
  }

  // The first.
  std::string lacking;

 private:
  void lacks(std::string what) {
    if (lacking.empty()) lacking = std::move(what);
  }
  void need_header(const std::string& name) {
    if (!knows_.header(name)) lacks("the header " + name);
  }
  void need_country() {
    const std::string& header = sources_.country_header;
    const bool has_header = !header.empty() && knows_.header(header);
    if (!knows_.country && !has_header && !sources_.country_database) lacks("the country");
  }

  const RequestSources& sources_;
  const LogKnows& knows_;
};

}  // namespace

std::string lacking(const Rule& rule, const RequestSources& sources, const LogKnows& knows) {
  if (rule.effect == Rule::Effect::kConcurrency) return "how long requests take";
  Needs needs(sources, knows);
  for_each_match(*rule.match, [&](const RequestMatch& match) { needs.look_at(match); });
  for (const KeyPart& part : rule.key_parts) needs.look_at(part);
  if (rule.tier) needs.look_at(*rule.tier);
  if (rule.cost_from) needs.look_at(*rule.cost_from);
  if (rule.response) needs.look_at(*rule.response);
  return needs.lacking;
}

}  // namespace weir::lab
