#include "scenarios/holds.h"

#include <vector>

#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "base/duration_text.h"
#include "server/http/http_test_door.h"
#include "server/resp/resp_test_door.h"

namespace weir::scenarios {

Outcome committed(std::string_view outcome) {
  return {.allowed = outcome != "unknown", .because = std::string(outcome)};
}

Outcome ended(const Question& question, HoldingStore::Commit outcome) {
  constexpr std::string_view kOutcomes[] = {"charged", "noted", "unknown"};
  const bool is_released =
      question.verb == Verb::kRelease && outcome != HoldingStore::Commit::kUnknown;
  return committed(is_released ? "released" : kOutcomes[static_cast<std::size_t>(outcome)]);
}

std::string hold_by_http(SessionFactory& door, const Question& question, Tokens& tokens,
                         Instant now) {
  const bool acquires = question.verb == Verb::kAcquire;
  boost::json::object body{
      {"rule", question.rule}, {"key", question.key}, {"hold", format_duration(question.hold)}};
  if (!acquires) body["cost"] = question.cost;
  const std::string said = converse(
      door, post(acquires ? "/v1/acquire" : "/v1/reserve", boost::json::serialize(body)), now);
  EXPECT_TRUE(said.starts_with("HTTP/1.1 200 ")) << said;
  const std::string text = said.substr(said.find("\r\n\r\n") + 4);
  const auto answer = boost::json::parse(text);
  if (const auto* const token = answer.as_object().if_contains("token")) {
    tokens[question.key] = token->as_string();
  }
  return text;
}

Outcome end_by_http(SessionFactory& door, const Question& question, Tokens& tokens, Instant now) {
  const bool releases = question.verb == Verb::kRelease;
  const std::string& token = tokens[question.key];
  boost::json::object body{{"token", token.empty() ? "of nothing" : token}};
  if (!releases) {
    body["cost"] = question.cost;
    body["more"] = question.goes_on;
  }
  const std::string said = converse(
      door, post(releases ? "/v1/release" : "/v1/commit", boost::json::serialize(body)), now);
  const std::string told = said.substr(said.find("\r\n\r\n") + 4);
  const bool is_unknown = told.find("\"urn:weir:problem:unknown-token\"") != told.npos;
  if (!said.starts_with(is_unknown ? "HTTP/1.1 404 " : "HTTP/1.1 200 ")) return committed("");
  if (is_unknown) return committed(told.find(kNoSuchHold) < told.npos ? "unknown" : "");
  const std::string cost = "{\"cost\":" + std::to_string(question.cost) + ",\"charged\":";
  return committed(told == "{\"released\":true}" ? "released"
                   : told == cost + "true}"      ? "charged"
                   : told == cost + "false}"     ? "noted"
                                                 : "");
}

std::string hold_by_resp(SessionFactory& door, const Question& question, Tokens& tokens,
                         Instant now) {
  const bool acquires = question.verb == Verb::kAcquire;
  std::vector<std::string> words = {acquires ? "WEIR.ACQUIRE" : "WEIR.RESERVE", question.rule,
                                    question.key};
  if (!acquires) words.push_back(std::to_string(question.cost));
  words.push_back(format_duration(question.hold));
  const std::string said = converse(door, command(words), now);
  const auto token = said.find("$32\r\n");
  if (token != std::string::npos) tokens[question.key] = said.substr(token + 5, 32);
  return said.substr(0, token);
}

Outcome end_by_resp(SessionFactory& door, const Question& question, Tokens& tokens, Instant now) {
  const bool releases = question.verb == Verb::kRelease;
  std::vector<std::string> words = {releases ? "WEIR.RELEASE" : "WEIR.COMMIT",
                                    tokens[question.key]};
  if (!releases) words.push_back(std::to_string(question.cost));
  if (question.goes_on) words.emplace_back("MORE");
  const std::string said = converse(door, command(words), now);
  if (said == "-NOTOKEN " + std::string(kNoSuchHold) + "\r\n") return committed("unknown");
  if (said == ":1\r\n") return committed(releases ? "released" : "charged");
  return committed(said == ":0\r\n" && !releases ? "noted" : "");
}

}  // namespace weir::scenarios
