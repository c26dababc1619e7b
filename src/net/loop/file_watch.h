// FileWatch: notices that files may have changed. Somebody has written a file in place, renamed
// another one over it, or changed a symbolic link on the way to it. Kubernetes changes such links
// for the files of a ConfigMap.
//
// It watches the folders around the files, so that a new file of the same name
// is noticed; and so are other files there: the owner looks whether it matters.
//
// Thread rule: one thread. Tested by file_watch_test.cc.

#pragma once

#include <span>
#include <string>

#include "base/unique_fd.h"

namespace weir {

class FileWatch {
 public:
  // Watches files, and all that is in folders; leaves out those that do not exist.
  // Throws std::system_error if the process is out of descriptors.
  explicit FileWatch(std::span<const std::string> paths);

  // Readable when something happened.
  int fd() const { return inotify_.get(); }

  // Forgets what happened until now.
  void drain();

 private:
  void watch(const std::string& folder);

  UniqueFd inotify_;
};

}  // namespace weir
