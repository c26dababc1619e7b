// The answer of the reader of check bodies as a text, so that tests compare its two ways.
//
// Thread rule: as CheckReader. For check_body_test.cc and fuzz/check_body_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/http/problem.h"
#include "proto/input_buffer.h"
#include "server/http/check/check_body.h"

namespace weir {

// The reader's answer to `text`, with the byte `behind` after it.
inline std::string said_of(CheckReader& reader, std::string text, CheckForm form, char behind) {
  const std::size_t size = text.size();
  text.append(InputBuffer::kPadding, behind);
  if (!reader.read({.text = text.data(), .size = size, .readable = text.size()}, form)) {
    return to_json(reader.problem());
  }
  const CheckBody& body = reader.body();
  std::string said = body.is_list ? "list" : "one";
  for (const CheckFields& check : body.checks) {
    for (const std::string_view part :
         {check.key, check.key_json, check.bucket, check.rule, check.tier}) {
      said.append("|").append(part);
    }
    for (const std::int64_t part :
         {check.limit, check.window.count(), check.cost, check.burst,
          static_cast<std::int64_t>(check.algorithm),
          check.mode ? static_cast<std::int64_t>(*check.mode) : -1,
          static_cast<std::int64_t>(check.counting), std::int64_t{check.resets},
          std::int64_t{check.present}, std::int64_t{body.atomic}}) {
      said.append("|").append(std::to_string(part));
    }
  }
  return said;
}

// An end of line in front, which means nothing, makes simdjson parse a body.
inline std::string said_by_simdjson(CheckReader& reader, std::string_view text, CheckForm form,
                                    char behind) {
  return said_of(reader, "\n" + std::string(text), form, behind);
}

}  // namespace weir
