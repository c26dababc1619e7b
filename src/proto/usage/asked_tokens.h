// asked_tokens(): how many tokens a request lets a language model answer with, as its body says.
//
//   OpenAI     "max_completion_tokens", "max_output_tokens"; before: "max_tokens"
//   Anthropic  "max_tokens"
//   Gemini     "generationConfig":{"maxOutputTokens":..}; its fields may be written with lines, too
//
// "model" says which model is asked; with Gemini, the path: /v1beta/models/NAME:generateContent.
//
// A client may write a body that Weir reads in one way and the model in another. So names are
// compared as the most lenient parsers do, without their case and with letters of other alphabets
// that fold to ASCII. Of several numbers the largest counts.
//
// Thread rule: pure. Tested by asked_tokens_test.cc and fuzz/usage_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rules/usage/price_table.h"

namespace weir {

// The part of a request's body that is looked at. None, if there is no body or it is compressed.
struct BodyStart {
  static constexpr std::size_t kBytesMax = std::size_t{64} << 10;

  std::string_view bytes{};
  bool is_whole = true;
  std::string_view path{};  // of the request, where some vendors have the name of the model
};

// `path`: to the one number that counts; empty: as above. `otherwise`: where the body says nothing.
// It is the least where the body may say something else: by what is no number, behind the bytes
// that are looked at, or behind brackets that do not match.
std::int64_t asked_tokens(const BodyStart& body, std::string_view path, std::int64_t otherwise);

// The same in millionths of a dollar, as is `otherwise`: so many tokens of output, by the dearest
// of the models that the request names. Where it names none, or perhaps others, by an unknown one.
struct AskedCost {
  std::int64_t units = 0;
  std::optional<TokenPrices> prices{};  // of those models, if all are known
};
AskedCost asked_cost(const BodyStart& body, std::string_view path, std::int64_t otherwise,
                     const PriceTable& prices);

}  // namespace weir
