// Memory that a fork shares, and a process that is killed.
//
// Thread rule: one thread makes it. Tested with its users, store/memory/shared_store_test.cc first.

#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <new>
#include <span>

namespace weir {

// Zeros, as a server maps them before it forks its workers.
class SharedPages {
 public:
  explicit SharedPages(std::size_t bytes)
      : size_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedPages() { ::munmap(memory_, size_); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::span<std::byte> bytes() const { return {data(), size_}; }
  template <typename T>
  std::span<T> all() const {
    return {static_cast<T*>(memory_), size_ / sizeof(T)};
  }

 private:
  std::size_t size_;
  void* memory_;
};

// Runs a worker's part in a process of its own, which is killed at its end.
template <typename Work>
void run_and_kill(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace weir
