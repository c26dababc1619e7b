#include "proto/usage/usage_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/quota.h"

namespace weir {
namespace {

using enum UsageReader::Form;

std::optional<std::int64_t> units_in(std::string_view body, UsageReader::Form form,
                                     std::string_view path, std::size_t piece) {
  UsageReader reader(form, path);
  for (std::size_t at = 0; at < body.size(); at += piece) reader.feed(body.substr(at, piece));
  return reader.units();
}

struct Case {
  std::string_view what;
  UsageReader::Form form;
  std::string_view body;
  std::optional<std::int64_t> units;
  std::string_view path{};
};

// As in the vendors' references.
constexpr Case kCases[] = {
    {"OpenAI, chat completions", kJson, R"({
       "id": "chatcmpl-B9MB", "object": "chat.completion", "created": 1741569952,
       "choices": [{"index": 0, "message": {"role": "assistant",
                    "content": "\"usage\":{\"total_tokens\":1}", "refusal": null}}],
       "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
                 "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 0},
                 "completion_tokens_details": {"reasoning_tokens": 3}}})",
     29},
    {"OpenAI, responses", kJson, R"({
       "id": "resp_67cc", "object": "response", "metadata": {"total_tokens": "1"},
       "usage": {"input_tokens": 36, "input_tokens_details": {"cached_tokens": 0},
                 "output_tokens": 87, "output_tokens_details": {"reasoning_tokens": 0},
                 "total_tokens": 123}})",
     123},
    {"OpenAI, without a total", kJson, R"({"usage": {"prompt_tokens": 8, "completion_tokens": 2}})",
     10},
    {"OpenAI, a stream with include_usage", kEvents,
     "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}],\"usage\":null}\n\n"
     "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":19,\"completion_tokens\":10,"
     "\"total_tokens\":29}}\n\n"
     "data: [DONE]\n\n",
     29},
    {"OpenAI, a stream without", kEvents,
     "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n", std::nullopt},
    {"OpenAI, a stream of responses", kEvents,
     "event: response.created\n"
     "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"usage\":null}}\n\n"
     "event: response.completed\n"
     "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"usage\":"
     "{\"input_tokens\":37,\"output_tokens\":11,\"total_tokens\":48}}}\n\n",
     48},
    {"Anthropic", kJson, R"({
       "id": "msg_013", "type": "message", "role": "assistant",
       "content": [{"type": "tool_use", "input": {"usage": {"input_tokens": 999}}}],
       "usage": {"input_tokens": 20, "cache_creation_input_tokens": 100,
                 "cache_read_input_tokens": 1000, "output_tokens": 3,
                 "cache_creation": {"ephemeral_5m_input_tokens": 100}}})",
     1123},
    {"Anthropic, a stream", kEvents,
     "event: message_start\r\n"
     "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,"
     "\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\r\n\r\n"
     "event: ping\r\ndata: {\"type\": \"ping\"}\r\n\r\n"
     "event: message_delta\r\n"
     "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\r\n\r\n",
     47},
    {"Anthropic, a stream that is cut", kEvents,
     "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,"
     "\"output_tokens\":1}}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":1",
     26},
    {"Gemini", kJson, R"({"candidates": [{"content": {}}], "usageMetadata": {
       "promptTokenCount": 4, "candidatesTokenCount": 5, "totalTokenCount": 12,
       "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 4}], "thoughtsTokenCount": 3}})",
     12},
    {"Gemini, a stream", kEvents,
     "data: {\"usageMetadata\":{\"promptTokenCount\":4,\"totalTokenCount\":4}}\r\n\r\n"
     "data: {\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":5,"
     "\"totalTokenCount\":9}}\r\n\r\n",
     9},
    {"Gemini, a stream as an array", kJson,
     "[{\"usageMetadata\":{\"promptTokenCount\":4}},\r\n"
     "{\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":5,"
     "\"thoughtsTokenCount\":2}}]",
     11},
    {"a path of one's own", kJson,
     R"({"meta": {"billed": {"units": 5}}, "usage": {"total_tokens": 1}})", 5, "meta.billed.units"},
    {"a path of one's own, in lines", kLines, "{\"done\":false}\n{\"eval_count\":7}\n", 7,
     "eval_count"},
    {"a path that is not there", kJson, R"({"usage": {"total_tokens": 1}})", std::nullopt, "cost"},
    {"an event of several lines", kEvents,
     ": a comment\ndata: {\"usage\":\ndata:{\"total_tokens\":3\rdata:}}\r\n\n", 3},
    {"an event that is no JSON", kEvents,
     "data: ]]]\ndata: {\"usage\":{\"total_tokens\":3}}\n\ndata: "
     "{\"usage\":{\"total_tokens\":4}}\n\n",
     4},
    {"a stream with a byte order mark", kEvents,
     "\xEF\xBB\xBF"
     "data: {\"usage\":{\"total_tokens\":3}}\n\n",
     3},
    {"a stream with half of one", kEvents,
     "\xEF\xBB"
     "data: {\"usage\":{\"total_tokens\":3}}\n\n"
     "data: {\"usage\":{\"total_tokens\":2}}\n\n",
     3},
    {"lines of which some are broken", kLines,
     "}\n{\"usage\":{\"total_tokens\":\n{\"usage\":{\"total_tokens\":3}}\n\"", 3},
    {"other fields of events", kEvents,
     "dat: {\"usage\":{\"total_tokens\":3}}\ndatax: {\"usage\":{\"total_tokens\":4}}\n"
     "id: {\"usage\":{\"total_tokens\":5}}\n\n",
     std::nullopt},
    {"an error", kJson, R"({"error": {"type": "overloaded_error", "message": "usage"}})",
     std::nullopt},
};

TEST(UsageReader, ReadsWhatVendorsReportWhateverThePieces) {
  for (const Case& each : kCases) {
    for (std::size_t piece = 1; piece <= each.body.size(); ++piece) {
      EXPECT_EQ(units_in(each.body, each.form, each.path, piece), each.units)
          << each.what << " by " << piece;
    }
  }
}

TEST(UsageReader, AnyPlaceOfAStreamLeavesWhatWasReportedBeforeIt) {
  for (const Case& each : kCases) {
    std::optional<std::int64_t> before;
    for (std::size_t size = 0; size <= each.body.size(); ++size) {
      const auto units = units_in(each.body.substr(0, size), each.form, each.path, size + 1);
      // A total may be below the parts before it, if these are of a vendor's cache; never here.
      EXPECT_GE(units.value_or(-1), before.value_or(-1)) << each.what << ", " << size;
      before = units;
    }
  }
}

TEST(UsageReader, ABodyMayBeLongerThanAnyMemory) {
  const std::string much(1 << 20, 'x');
  std::string embeddings = R"({"data":[)";
  for (int i = 0; i < 100'000; ++i) embeddings += "0.012345,";
  EXPECT_EQ(units_in(embeddings + R"(0],"usage":{"total_tokens":8}})", kJson, "", 4096), 8);
  EXPECT_EQ(units_in("data: {\"x\":\"" + much + "\",\"usage\":{\"total_tokens\":9}}\n\n", kEvents,
                     "", 4096),
            9);
}

TEST(UsageReader, SumsEndAtTheLargestCost) {
  const std::string most = std::to_string(kCostMax);
  EXPECT_EQ(units_in(R"({"usage":{"input_tokens":)" + most + R"(,"output_tokens":)" + most + "}}",
                     kJson, "", 64),
            kCostMax);
}

TEST(UsageReader, TheTypeOfTheContentSaysTheForm) {
  EXPECT_EQ(UsageReader::form_of("text/event-stream"), kEvents);
  EXPECT_EQ(UsageReader::form_of("Text/Event-Stream; charset=utf-8"), kEvents);
  EXPECT_EQ(UsageReader::form_of("application/json;charset=utf-8"), kJson);
  EXPECT_EQ(UsageReader::form_of("application/problem+JSON"), kJson);
  EXPECT_EQ(UsageReader::form_of("application/x-ndjson"), kLines);
  for (const std::string_view other : {"", "text/html", "json", "application/jsonx", ";"}) {
    EXPECT_EQ(UsageReader::form_of(other), std::nullopt) << other;
  }
}

// Prices for which the digits of a cost show how many tokens of each kind were charged.
std::shared_ptr<const PriceTable> prices() {
  const auto row = [](std::string model, std::int64_t factor) {
    constexpr std::int64_t kMillion = 1'000'000;
    return PriceTable::Row{std::move(model),
                           {.each = {factor * kMillion, factor * 100 * kMillion,
                                     factor * 10'000 * kMillion, factor * 1'000'000 * kMillion}}};
  };
  static const auto table =
      std::make_shared<const PriceTable>(std::vector{row("m1", 1), row("m2*", 2), row("dear", 3)});
  return table;
}

std::optional<std::int64_t> cost_in(std::string_view body, UsageReader::Form form,
                                    std::size_t piece = 1,
                                    const std::optional<TokenPrices>& asked = {}) {
  UsageReader reader(form, prices());
  for (std::size_t at = 0; at < body.size(); at += piece) reader.feed(body.substr(at, piece));
  return reader.cost(asked);
}

TEST(UsageReader, ChargesByThePriceOfTheModel) {
  struct PricedCase {
    std::string_view what;
    UsageReader::Form form;
    std::string_view body;
    std::optional<std::int64_t> cost;  // output, cache write, cached input, input
  };
  constexpr PricedCase kPriced[] = {
      {"OpenAI, chat completions", kJson, R"({"model": "m1", "usage": {
         "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
         "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": 0},
         "completion_tokens_details": {"reasoning_tokens": 3}}})",
       10'00'05'14},
      {"OpenAI, responses", kEvents,
       "data: {\"response\":{\"model\":\"m1\",\"usage\":null}}\n\n"
       "data: "
       "{\"response\":{\"model\":\"m1\",\"usage\":{\"input_tokens\":37,\"input_tokens_details\":"
       "{\"cached_tokens\":30},\"output_tokens\":11,\"total_tokens\":48}}}\n\n",
       11'00'30'07},
      {"Anthropic", kJson, R"({"model": "m1", "usage": {
         "input_tokens": 20, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 9,
         "output_tokens": 3}})",
       3'07'09'20},
      {"Anthropic, a stream", kEvents,
       "data: {\"message\":{\"model\":\"m2-x\",\"usage\":{\"input_tokens\":25,"
       "\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n"
       "data: {\"usage\":{\"output_tokens\":15}}\n\n",
       2 * 15'00'07'25},
      {"Gemini", kJson, R"({"modelVersion": "m1", "usageMetadata": {
         "promptTokenCount": 40, "candidatesTokenCount": 5, "totalTokenCount": 52,
         "cachedContentTokenCount": 30, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 4}})",
       8'00'30'14},
      {"more in all than in parts", kJson,
       R"({"model":"m1","usage":{"prompt_tokens":4,"completion_tokens":5,"total_tokens":11}})",
       7'00'00'04},
      {"a total alone", kJson, R"({"model":"m1","usage":{"total_tokens":11}})", 11'00'00'00},
      {"more cached than there is", kJson,
       R"({"model":"m1","usage":{"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":9}}})",
       4'00},
      {"several models", kJson, R"({"model":"m1","modelVersion":"m2","usage":{"input_tokens":5}})",
       10},
      {"a model in what was said", kJson,
       R"({"content":[{"model":"dear"}],"model":"m1","usage":{"input_tokens":5}})", 5},
      {"an unknown model", kJson, R"({"model":"m3","usage":{"input_tokens":5}})", 15},
      {"no model", kJson, R"({"usage":{"input_tokens":5}})", 15},
      {"no usage", kJson, R"({"model":"m1"})", std::nullopt},
  };
  for (const auto& [what, form, body, cost] : kPriced) {
    for (std::size_t piece = 1; piece <= body.size(); piece += 7) {
      EXPECT_EQ(cost_in(body, form, piece), cost) << what << " by " << piece;
    }
  }
}

TEST(UsageReader, AModelWithoutAPriceCostsAsTheOneThatWasAskedFor) {
  const std::optional<TokenPrices> asked = *prices()->find("m2");
  EXPECT_EQ(cost_in(R"({"model":"m3","usage":{"input_tokens":5}})", kJson, 1, asked), 10);
  EXPECT_EQ(cost_in(R"({"model":"m1","usage":{"input_tokens":5}})", kJson, 1, asked), 5);
  UsageReader reader(kJson, prices());
  reader.feed(R"({"model":"m3","usage":{"input_tokens":5}})");
  EXPECT_FALSE(reader.knows_model());
  EXPECT_EQ(reader.unknown_model(), "m3");
  EXPECT_EQ(reader.units(), 5);
}

}  // namespace
}  // namespace weir
