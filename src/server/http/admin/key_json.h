// A busy key as JSON: an object that begins with its hash, its text if that is known, and how
// often it came.
//
// Thread rule: pure. Tested by http_busiest_test.cc, http_events_test.cc.

#pragma once

#include <cstdint>
#include <string>

#include "observe/keys/key_report.h"
#include "proto/json_writer.h"

namespace weir {

// Its sixteen digits.
std::string hash_text(std::uint64_t hash);

// The caller may add fields, and ends the object.
void write_key_begin(JsonWriter& json, const KeyEstimate& key);

}  // namespace weir
