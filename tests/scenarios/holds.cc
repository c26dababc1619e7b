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

std::string reserve_by_http(SessionFactory& door, const Question& question, Tokens& tokens,
                            Instant now) {
  const boost::json::object body{{"rule", question.rule},
                                 {"key", question.key},
                                 {"cost", question.cost},
                                 {"hold", format_duration(question.hold)}};
  const std::string said = converse(door, post("/v1/reserve", boost::json::serialize(body)), now);
  EXPECT_TRUE(said.starts_with("HTTP/1.1 200 ")) << said;
  const std::string text = said.substr(said.find("\r\n\r\n") + 4);
  const auto answer = boost::json::parse(text);
  if (const auto* const token = answer.as_object().if_contains("token")) {
    tokens[question.key] = token->as_string();
  }
  return text;
}

Outcome commit_by_http(SessionFactory& door, const Question& question, Tokens& tokens,
                       Instant now) {
  const boost::json::object body{
      {"token", tokens[question.key]}, {"cost", question.cost}, {"more", question.goes_on}};
  const std::string said = converse(door, post("/v1/commit", boost::json::serialize(body)), now);
  if (!said.starts_with("HTTP/1.1 200 ")) return committed("unknown");
  return committed(said.ends_with("\"charged\":true}") ? "charged" : "noted");
}

std::string reserve_by_resp(SessionFactory& door, const Question& question, Tokens& tokens,
                            Instant now) {
  const std::string said =
      converse(door,
               command({"WEIR.RESERVE", question.rule, question.key, std::to_string(question.cost),
                        format_duration(question.hold)}),
               now);
  const auto token = said.find("$32\r\n");
  if (token != std::string::npos) tokens[question.key] = said.substr(token + 5, 32);
  return said.substr(0, token);
}

Outcome commit_by_resp(SessionFactory& door, const Question& question, Tokens& tokens,
                       Instant now) {
  std::vector<std::string> words = {"WEIR.COMMIT", tokens[question.key],
                                    std::to_string(question.cost)};
  if (question.goes_on) words.emplace_back("MORE");
  const std::string said = converse(door, command(words), now);
  return committed(said == ":1\r\n" ? "charged" : said == ":0\r\n" ? "noted" : "unknown");
}

}  // namespace weir::scenarios
