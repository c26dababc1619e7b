// Preloaded into a redis-server: its clock is a number in a file, microseconds since the epoch. So
// a test says what time it is there, to the microsecond.
//
// Thread rule: any. Tested by redis_model_equality_test.cc, which uses it.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

std::int64_t now_us() {
  static const volatile std::int64_t* const us = [] {
    const int fd = open(getenv("WEIR_REDIS_CLOCK"), O_RDONLY | O_CLOEXEC);
    void* const page = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (fd < 0 || page == MAP_FAILED) abort();
    return static_cast<const volatile std::int64_t*>(page);
  }();
  return *us;
}

}  // namespace

extern "C" {

int gettimeofday(struct timeval* tv, void*) noexcept {
  const std::int64_t us = now_us();
  tv->tv_sec = us / 1'000'000;
  tv->tv_usec = us % 1'000'000;
  return 0;
}

int clock_gettime(clockid_t clock, struct timespec* ts) noexcept {
  if (clock != CLOCK_REALTIME) return static_cast<int>(syscall(SYS_clock_gettime, clock, ts));
  const std::int64_t us = now_us();
  ts->tv_sec = us / 1'000'000;
  ts->tv_nsec = us % 1'000'000 * 1'000;
  return 0;
}

time_t time(time_t* out) noexcept {
  const time_t seconds = now_us() / 1'000'000;
  if (out != nullptr) *out = seconds;
  return seconds;
}

}  // extern "C"
