#pragma once
// Memory of large machines on large pages, where the system has them: what acts next stands
// somewhere in some tens of MiB, and looking up small pages costs as much as fetching it.

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fabricast {

template <class T>
struct LargePageAllocator {
  using value_type = T;

  LargePageAllocator() = default;
  template <class U>
  LargePageAllocator(const LargePageAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLeast)
      return static_cast<T*>(::operator new (bytes, std::align_val_t{alignof(T)}));
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = std::aligned_alloc(kPage, whole);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    madvise(memory, whole, MADV_HUGEPAGE);  // a wish: without it everything goes on as usual
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kLeast) {
      ::operator delete (memory, std::align_val_t{alignof(T)});
    } else {
      std::free(memory);
    }
  }
  bool operator==(const LargePageAllocator&) const = default;

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20, kLeast = 2 * kPage;
};

/// std::vector on pages of 2 MiB: for arrays that are read in no order.
template <class T>
using HugePageVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace fabricast
