// Readers hold a shared lock, twice inside each other.
//
// frames: Lookup Resolve main
// flags: -pthread
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

struct Names {
  mutable std::shared_mutex mutex;
  std::map<int, const char*> names;
};

__attribute__((noinline)) int Lookup(const Names& names, int number) {
  std::shared_lock lock(names.mutex);
  auto found = names.names.find(number);
#ifdef FIXED
  if (found == names.names.end() || !found->second) return 0;
#endif
  return found->second[0];  // split
}

__attribute__((noinline)) int Resolve(const Names& names, const int* numbers, int count) {
  std::shared_lock lock(names.mutex);
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Lookup(names, numbers[i]);
  return sum;
}

int main() {
  Names names;
  {
    std::unique_lock lock(names.mutex);
    names.names = {{1, "one"}, {2, nullptr}};
  }
  const int numbers[] = {1, 1, 2};
  std::printf("%d\n", Resolve(names, numbers, 3));
}
