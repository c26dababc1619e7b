// Puts a file in place of another in one step: a reader sees the old text or the new one, also
// after a crash.
//
// Thread rule: any; one writer a file. Tested by replace_file_test.cc.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// The permissions of the new file: for its owner alone, or as the old file has them.
inline constexpr mode_t kOwnerOnly = 0600;
inline constexpr mode_t kAsBefore = 0;

// Where `path` is a symbolic link, what it leads to is replaced. Nothing if it worked, else
// a sentence that says why not; then the old file is as it was.
std::optional<std::string> replace_file(const std::string& path, std::string_view text,
                                        mode_t mode);

}  // namespace weir
