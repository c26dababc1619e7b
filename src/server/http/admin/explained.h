// How /v1/explain shows one rule's answer, as JSON.
//
// Thread rule: the core of the asks. Tested by http_pages_test.cc, ../check/http_holds_test.cc and
// tests/nginx/concurrency_test.py.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/asks/asks.h"
#include "engine/engine.h"
#include "engine/switching/rule_switches.h"
#include "proto/json_writer.h"

namespace weir {

// The context in which answers are shown.
struct ExplainedWith {
  const Engine& engine;
  const RuleSwitches* switches;  // may be null
  Instant now;
  std::span<const std::string> missing;  // of each answer, as JSON; may be shorter
};

// Whether explain cannot know the answer: nginx counts requests under way as they pass, and a look
// sees none.
bool is_unseen(const Ask& ask, const Answer& answer, Instant wall_time);

void write_explained(JsonWriter& json, const Asks& asks, std::size_t index,
                     const ExplainedWith& with);

}  // namespace weir
