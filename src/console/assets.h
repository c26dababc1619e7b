// The console's files within the program: the result of building `console/`.
//
// Thread-safe: constants.
// Tested by assets_test.cc.

#pragma once
#include <span>
#include <string_view>

namespace weir {

// One file in three encodings. All but index.html have a hash of their content in their names, so
// that a browser may keep them for ever.
struct ConsoleAsset {
  std::string_view name;  // "index.html", "app.0f3a9c2b41.js"
  std::string_view type;  // of the content, as Content-Type says it
  std::string_view etag;  // quoted
  std::string_view plain, gzip, brotli;
};

// Has index.html, too.
std::span<const ConsoleAsset> console_assets();

}  // namespace weir
