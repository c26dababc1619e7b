#include "base/huge_array.h"

#include <sys/mman.h>

#include <new>

namespace weir {

void* allocate_pages(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  madvise(pages, bytes, MADV_HUGEPAGE);  // a wish: without huge pages all works, but slower
  return pages;
}

void free_pages(void* pages, std::size_t bytes) noexcept {
  if (pages != nullptr) munmap(pages, bytes);
}

}  // namespace weir
