// An allocator of the program's own gives null when its pool is used up.
//
// frames: Add Fill main
#include <cstdio>
#include <cstdlib>
#include <list>

struct Pool {
  char* memory = static_cast<char*>(std::malloc(1024));
  size_t used = 0;
  size_t size = 1024;
  void* Take(size_t bytes) {
    if (used + bytes > size) {
#ifdef FIXED
      return std::malloc(bytes);
#else
      return nullptr;
#endif
    }
    void* taken = memory + used;
    used += (bytes + 15) & ~size_t{15};
    return taken;
  }
};

template <typename T>
struct PoolAllocator {
  using value_type = T;
  Pool* pool;
  explicit PoolAllocator(Pool* pool) : pool(pool) {}
  template <typename U>
  PoolAllocator(const PoolAllocator<U>& other) : pool(other.pool) {}
  T* allocate(size_t count) { return static_cast<T*>(pool->Take(count * sizeof(T))); }
  void deallocate(T*, size_t) {}
  bool operator==(const PoolAllocator& other) const { return pool == other.pool; }
};

using Numbers = std::list<long, PoolAllocator<long>>;

__attribute__((noinline)) void Add(Numbers& numbers, long number) { numbers.push_back(number); }

__attribute__((noinline)) long Fill(Numbers& numbers, int count) {
  for (int i = 0; i < count; ++i) Add(numbers, i);
  return numbers.back();
}

int main() {
  Pool pool;
  Numbers numbers{PoolAllocator<long>(&pool)};
  std::printf("%ld\n", Fill(numbers, 100));
}
