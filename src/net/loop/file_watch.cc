#include "net/loop/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                                  IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR;

// The kernel does not follow more symbolic links in a row, either.
constexpr int kLinksMax = 40;

}  // namespace

FileWatch::FileWatch(std::span<const std::string> paths)
    : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (!inotify_.is_open()) {
    throw std::system_error(errno, std::generic_category(), "inotify_init1");
  }
  std::error_code ignored;
  for (const auto& given : paths) {
    auto path = fs::absolute(given, ignored);
    for (int links = 0; links < kLinksMax; ++links) {
      watch(path.parent_path());
      if (!fs::is_symlink(path, ignored)) break;
      path = path.parent_path() / fs::read_symlink(path, ignored);
    }
    if (!fs::is_directory(path, ignored)) continue;
    watch(path);
    const auto skipping = fs::directory_options::skip_permission_denied;
    auto entry = fs::recursive_directory_iterator(path, skipping, ignored);
    for (; entry != end(entry); entry.increment(ignored)) {
      if (entry->is_directory(ignored)) watch(entry->path());
    }
  }
}

// Watching a folder twice makes one watch.
void FileWatch::watch(const std::string& folder) {
  ::inotify_add_watch(inotify_.get(), folder.c_str(), kEvents);
}

void FileWatch::drain() {
  std::array<char, 4096> events;
  while (::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
}

}  // namespace weir
