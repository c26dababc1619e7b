#include "rulebook/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/unique_fd.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

Fault failure(const std::string& path) {
  return {"cannot write " + path + ": " + std::strerror(errno)};
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0;
}

// A rename is only on the disk when its folder is.
void sync_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.is_open()) ::fsync(fd.get());
}

fs::path target_of(const std::string& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return error ? fs::path(path) : resolved;
}

fs::path folder_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

// A file in the place of a device or a pipe would take it away from all who use it.
std::optional<Fault> kind_fault(const fs::path& target) {
  std::error_code error;
  if (!fs::exists(target, error) || fs::is_regular_file(target, error)) return std::nullopt;
  return Fault{"cannot write " + target.string() + ": it is not a regular file"};
}

UniqueFd make_file(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0644;
}

}  // namespace

std::optional<Fault> replacing_fault(const std::string& path) {
  const fs::path target = target_of(path);
  if (auto fault = kind_fault(target)) return fault;
  // Only a try shows whether the folder takes files: of /proc, root hears that it may write there.
  // The name is as long as the writer's, but another: the writer may be at work.
  const std::string trial = target.string() + ".weir-try";
  if (const UniqueFd fd = make_file(trial); fd.is_open()) {
    ::unlink(trial.c_str());
  } else if (errno != EEXIST) {
    return failure(target.string());
  }
  return std::nullopt;
}

std::optional<Fault> replace_file(const std::string& path, std::string_view text, mode_t mode) {
  const fs::path target = target_of(path);
  if (auto fault = kind_fault(target)) return fault;
  const fs::path folder = folder_of(target);
  const std::string temporary = target.string() + ".weir-new";
  ::unlink(temporary.c_str());
  const UniqueFd fd = make_file(temporary);
  if (!fd.is_open()) return failure(temporary);
  const bool written = write_all(fd.get(), text) &&
                       ::fchmod(fd.get(), mode == kAsBefore ? mode_of(target) : mode) == 0 &&
                       std::rename(temporary.c_str(), target.c_str()) == 0;
  if (!written) {
    auto fault = failure(target.string());
    ::unlink(temporary.c_str());
    return fault;
  }
  sync_folder(folder);  // its name is made before: from the rename on nothing may throw
  return std::nullopt;
}

}  // namespace weir
