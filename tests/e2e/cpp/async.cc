// An exception thrown in another thread comes out of a std::future, and nobody catches it.
//
// frames: Gather main
// flags: -pthread
#include <cstdio>
#include <future>
#include <stdexcept>
#include <string>

int Download(int size) {
  if (size > 2) throw std::length_error("part " + std::to_string(size) + " is too long");
  return size;
}

__attribute__((noinline)) int Gather(std::future<int>* parts, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
#ifdef FIXED
    try {
      sum += parts[i].get();
    } catch (const std::length_error&) {
      sum -= 1;
    }
#else
    sum += parts[i].get();
#endif
  }
  return sum;
}

int main() {
  std::future<int> parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = std::async(std::launch::async, Download, i);
  std::printf("%d\n", Gather(parts, 4));
}
