// RequestFacts completes a request with what rules look at and a door does not know: the
// decoded parameters of its query, its cookies, the claims of its token, its country.
//
// It works out only what some rule looks at, by name; so a request with a thousand cookies
// costs reading them once. If a name is there several times, the first and the last are
// kept: origins differ in which of them they take.
//
// Thread rule: immutable after construction; complete() from any thread, with a scratch of
// its own. Tested by request_facts_test.cc.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/name_value.h"
#include "base/text_hash.h"
#include "rules/request/country_database.h"
#include "rules/request/request.h"
#include "rules/request/token.h"
#include "rules/rule.h"
#include "weir/time.h"

namespace weir {

// Where facts that are not in every request come from.
struct RequestSources {
  std::string country_header{};             // empty: no header says it
  CountryDatabase::Ptr country_database{};  // null: none; the header's word comes first
  std::string token_header = "Authorization";
  std::shared_ptr<const TokenKey> token_key{};  // null: no token is believed
};

// Memory for the facts of one request; reused.
struct FactScratch {
  std::string text;
  std::vector<NameValue> parameters;
  std::vector<NameValue> cookies;
  std::vector<NameValue> claims;
  std::vector<NameValue> unverified_claims;
  TokenScratch token;
  TokenScratch unverified_token;
};

class RequestFacts {
 public:
  RequestFacts() = default;
  RequestFacts(std::span<const Rule> rules, RequestSources sources);

  // The facts refer to the request's own texts, to `scratch` and to this.
  void complete(Request& request, FactScratch& scratch, Instant now) const;

 private:
  using Names = std::unordered_set<std::string, TextHash, std::equal_to<>>;

  void note(const Rule& rule);
  void note(const RequestMatch& match);
  void note(const KeyPart& part);
  void read_query(std::string_view query, FactScratch& scratch) const;
  void read_tokens(Request& request, FactScratch& scratch, Instant now) const;
  void read_cookies(const Request& request, FactScratch& scratch) const;
  std::string_view country_of(const Request& request) const;

  RequestSources sources_;
  Names parameters_;
  Names cookies_;
  ClaimNames claims_;
  ClaimNames unverified_claims_;
  bool looks_at_country_ = false;
};

}  // namespace weir
