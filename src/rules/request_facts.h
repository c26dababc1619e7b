// RequestFacts adds facts to a request that rules read and a door does not know: the decoded
// parameters of its query, its cookies, the claims of its token, its country.
//
// It computes only facts that some rule reads, by name: a request with a thousand cookies costs no
// more than reading them once. Origins differ in which of several values they take, so it keeps
// all, up to kValuesMax of a name.
//
// Thread rule: immutable after construction; complete() from any thread, with a scratch of
// its own. Tested by request_facts_test.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/name_value.h"
#include "base/text_hash.h"
#include "rules/request/country_database.h"
#include "rules/request/request.h"
#include "rules/request/token.h"
#include "rules/rule.h"
#include "weir/time.h"

namespace weir {

// The sources of facts that not every request has.
struct RequestSources {
  std::string country_header{};             // empty: no header names the country
  CountryDatabase::Ptr country_database{};  // null: none; the header comes first
  std::string token_header = "Authorization";
  std::shared_ptr<const TokenKey> token_key{};  // null: tokens are not believed
};

// What rules read, directly or through facts. A door may leave out the rest.
struct RequestNeeds {
  bool target = false;  // path and query
  bool host = false;
  bool headers = false;
};

// The values of some names: the first values of each name, and its last.
class NamedValues {
 public:
  static constexpr std::size_t kValuesMax = 16;  // of one name

  void clear(std::size_t names);
  // `number`: of the name.
  void add(std::size_t number, const NameValue& value);
  std::span<const NameValue> all() const { return values_; }

 private:
  struct Seen {
    std::size_t count = 0;
    std::size_t last = 0;  // the place of the last value in values_
  };
  std::vector<NameValue> values_;
  std::vector<Seen> seen_;  // by numbers of names
};

// Memory for the facts of one request; reused.
struct FactScratch {
  std::string text;
  std::string folder;
  std::string folder_in_small;
  NamedValues parameters;
  NamedValues cookies;
  std::vector<NameValue> claims;
  std::vector<NameValue> unverified_claims;
  TokenScratch token;
  TokenScratch unverified_token;
};

class RequestFacts {
 public:
  RequestFacts() = default;
  RequestFacts(std::span<const Rule> rules, RequestSources sources);

  // The facts refer to the request's own texts, to `scratch` and to this object.
  void complete(Request& request, FactScratch& scratch, Instant now) const {
    if (looks_at_any_) find_all(request, scratch, now);
  }

  // Adds only the facts that follow from the path.
  void complete_path(Request& request, FactScratch& scratch) const;

  const RequestNeeds& needs() const { return needs_; }

  // The name of a header that rules read and that may come only once, but comes several times: the
  // token's or the country's. Empty if there is none.
  std::string_view repeated_header(const Request& request) const {
    return looks_at_any_ ? find_repeated(request) : std::string_view();
  }

 private:
  using Names = std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>>;

  void note(const Rule& rule);
  void note(const RequestMatch& match);
  void note(const KeyPart& part);
  void find_all(Request& request, FactScratch& scratch, Instant now) const;
  std::string_view find_repeated(const Request& request) const;
  void read_query(std::string_view query, FactScratch& scratch) const;
  void read_tokens(Request& request, FactScratch& scratch, Instant now) const;
  void read_cookies(const Request& request, FactScratch& scratch) const;
  std::string_view country_of(const Request& request) const;
  bool looks_at_tokens() const { return !claims_.empty() || !unverified_claims_.empty(); }

  RequestSources sources_;
  Names parameters_;  // with their numbers
  Names cookies_;
  ClaimNames claims_;
  ClaimNames unverified_claims_;
  bool looks_at_country_ = false;
  bool looks_at_folder_ = false;
  bool looks_at_any_ = false;  // whether any rule reads one of these facts
  RequestNeeds needs_;
};

}  // namespace weir
