// Puts a file in place of another in one step: a reader sees the old text or the new one, also
// after a crash.
//
// Thread rule: any; one writer a file. Tested by replace_file_test.cc.

#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/fault.h"

namespace weir {

// The permissions of the new file: for its owner alone, or as the old file has them.
inline constexpr mode_t kOwnerOnly = 0600;
inline constexpr mode_t kAsBefore = 0;

// Why replace_file() could not; nothing: it could. Makes a file in the folder and removes it.
std::optional<Fault> replacing_fault(const std::string& path);

// Where `path` is a symbolic link, replaces what it leads to; a device, a pipe or a folder it
// does not replace. Returns nothing if it worked; with a fault the old file is as it was.
std::optional<Fault> replace_file(const std::string& path, std::string_view text, mode_t mode);

}  // namespace weir
