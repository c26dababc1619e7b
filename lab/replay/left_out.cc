#include "replay/left_out.h"

namespace weir::lab {

std::string lacking(const Rule& rule, const RequestSources& sources, const LogKnows& knows) {
  if (!rule.enabled) return "it is disabled";
  if (!rule.match) return "requests do not lead to it: it has no 'match'";
  std::string first;
  const auto need = [&](bool is_known, const std::string& what) {
    if (!is_known && first.empty()) first = "the log does not have " + what;
  };
  need(rule.effect != Rule::Effect::kConcurrency, "how long requests take");
  const auto need_header = [&](const std::string& name) {
    need(knows.header(name), "the header " + name);
  };
  const auto need_country = [&] {
    const std::string& header = sources.country_header;
    const bool has_header = !header.empty() && knows.header(header);
    need(knows.country || has_header || sources.country_database, "the country");
  };
  const auto look_at = [&](const KeyPart& part) {
    using enum KeyPart::Property;
    if (part.property == kHost) need(knows.host, "the host");
    if (part.property == kQuery) need(knows.query, "the query");
    if (part.property == kCountry) need_country();
    if (part.property == kHeader) need_header(part.name);
    if (part.property == kCookie) need_header("Cookie");
    if (part.property == kClaim) need_header(sources.token_header);
  };
  for_each_match(*rule.match, [&](const RequestMatch& match) {
    need(match.hosts.empty() || knows.host, "the host");
    if (!match.countries.empty()) need_country();
    need(match.parameters.empty() || knows.query, "the query");
    if (!match.cookies.empty()) need_header("Cookie");
    const bool has_claims = !match.claims.empty() || !match.unverified_claims.empty();
    if (has_claims) need_header(sources.token_header);
    for (const PropertyMatch& header : match.headers) need_header(header.name);
  });
  for (const KeyPart& part : rule.key_parts) look_at(part);
  if (rule.tier) look_at(*rule.tier);
  if (rule.cost_from) look_at(*rule.cost_from);
  if (rule.response) {
    using enum ResponseCount::CostFrom;
    need(rule.response->statuses.empty() || knows.status, "the status");
    need(rule.response->cost_from != kHeader,
         "the header " + rule.response->cost_name + " of responses");
    need(rule.response->cost_from != kBody, "the bodies of responses");
  }
  return first;
}

}  // namespace weir::lab
