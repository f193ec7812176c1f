#pragma once
// Memory of large machines on large pages, where the system has them: what acts next stands
// somewhere in some tens of MiB, and looking up small pages costs as much as fetching it.

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fabricast {

/// Pages of 2 MiB, where there is enough to fill half of one.
class LargePages final : public std::pmr::memory_resource {
 public:
  static void* take(std::size_t bytes, std::size_t alignment) {
    if (bytes < kLeast) return ::operator new (bytes, std::align_val_t{alignment});
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = std::aligned_alloc(kPage, whole);
    if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    madvise(memory, whole, MADV_HUGEPAGE);  // a wish: without it everything goes on as usual
#endif
    return memory;
  }
  static void give_back(void* memory, std::size_t bytes, std::size_t alignment) {
    if (bytes < kLeast) {
      ::operator delete (memory, std::align_val_t{alignment});
    } else {
      std::free(memory);
    }
  }

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20, kLeast = kPage / 2;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return take(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    give_back(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return dynamic_cast<const LargePages*>(&other) != nullptr;
  }
};

template <class T>
struct LargePageAllocator {
  using value_type = T;

  LargePageAllocator() = default;
  template <class U>
  LargePageAllocator(const LargePageAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    return static_cast<T*>(LargePages::take(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* memory, std::size_t count) {
    LargePages::give_back(memory, count * sizeof(T), alignof(T));
  }
  bool operator==(const LargePageAllocator&) const = default;
};

/// std::vector on pages of 2 MiB: for arrays that are read in no order.
template <class T>
using HugePageVector = std::vector<T, LargePageAllocator<T>>;

/// Memory of many small vectors that live as long as their machine: one after another on pages that
/// grow, and given back together.
class SmallVectors {
 public:
  std::pmr::memory_resource* memory() { return &memory_; }

 private:
  static constexpr std::size_t kFirst = 4096;

  LargePages pages_;
  std::pmr::monotonic_buffer_resource memory_{kFirst, &pages_};
};

}  // namespace fabricast
