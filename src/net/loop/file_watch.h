// FileWatch: notices that files may have changed: written in place, replaced by a renamed file, or
// reached through a changed symbolic link. Kubernetes changes such links for the files of a
// ConfigMap.
//
// It watches the folders around the files, so that it notices a new file of the same name. It also
// notices other files there: the owner checks whether they matter.
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

  // Forgets all events until now.
  void drain();

 private:
  void watch(const std::string& folder);

  UniqueFd inotify_;
};

}  // namespace weir
