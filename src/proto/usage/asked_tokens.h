// asked_tokens(): how many tokens a request asks a language model for at most, by its body.
//
//   OpenAI     "max_completion_tokens", "max_output_tokens"; before: "max_tokens"
//   Anthropic  "max_tokens"
//   Gemini     "generationConfig":{"maxOutputTokens":..}; its fields may be written with lines, too
//
// "model" names the model; with Gemini, the path does: /v1beta/models/NAME:generateContent.
//
// A client may write a body that Weir reads in one way and the model in another. So names are
// compared as the most lenient parsers do: without case, and with letters of other alphabets that
// fold to ASCII. Of several numbers the largest counts.
//
// Thread rule: pure. Tested by asked_tokens_test.cc and fuzz/usage_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rules/usage/price_table.h"

namespace weir {

// The part of a request's body that is read. Empty if there is no body or it is compressed.
struct BodyStart {
  static constexpr std::size_t kBytesMax = std::size_t{64} << 10;

  std::string_view bytes{};
  bool is_whole = true;
  std::string_view path{};  // the request's, where some vendors have the model's name
};

// `path`: to the only number that counts; empty: as above. `otherwise`: if the body says nothing.
// It is the minimum if the body may say more: by a value that is no number, behind the bytes that
// are read, or behind brackets that do not match.
std::int64_t asked_tokens(const BodyStart& body, std::string_view path, std::int64_t otherwise);

// The same in millionths of a dollar, as is `otherwise`: as output of the dearest model that the
// request names. If it names none, or perhaps others, of an unknown model.
struct AskedCost {
  std::int64_t units = 0;
  std::optional<TokenPrices> prices{};  // of the named models, if all are known
};
AskedCost asked_cost(const BodyStart& body, std::string_view path, std::int64_t otherwise,
                     const PriceTable& prices);

}  // namespace weir
