// asked_tokens(): how many tokens a request lets a language model answer with, as its body says.
//
//   OpenAI     "max_completion_tokens", "max_output_tokens"; before: "max_tokens"
//   Anthropic  "max_tokens"
//   Gemini     "generationConfig":{"maxOutputTokens":..}; its fields may be written with lines, too
//
// A client may write a body that Weir reads in one way and the model in another. So names are
// compared as the most lenient parsers do, without their case and with letters of other alphabets
// that fold to ASCII. Of several numbers the largest counts.
//
// Thread rule: pure. Tested by asked_tokens_test.cc and fuzz/usage_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

// The part of a request's body that is looked at. None, if there is no body or it is compressed.
struct BodyStart {
  static constexpr std::size_t kBytesMax = std::size_t{64} << 10;

  std::string_view bytes{};
  bool is_whole = true;
};

// `path`: to the one number that counts; empty: as above. `otherwise`: where the body says nothing.
// It is the least where the body may say something else: by what is no number, behind the bytes
// that are looked at, or behind brackets that do not match.
std::int64_t asked_tokens(const BodyStart& body, std::string_view path, std::int64_t otherwise);

}  // namespace weir
