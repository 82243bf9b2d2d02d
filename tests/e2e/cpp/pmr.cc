// A memory resource with nothing behind it: std::bad_alloc, which nobody catches.
//
// frames: Append Collect main
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory_resource>
#include <string>
#include <vector>

using Lines = std::pmr::vector<std::pmr::string>;

__attribute__((noinline)) void Append(Lines& lines, int number) {
  lines.emplace_back("a line that is too long for the string itself, number ");
  lines.back() += std::to_string(number);
}

__attribute__((noinline)) size_t Collect(std::pmr::memory_resource* resource, int count) {
  Lines lines(resource);
  for (int i = 0; i < count; ++i) Append(lines, i);
  return lines.size();
}

int main() {
  std::array<std::byte, 4096> room;
#ifdef FIXED
  std::pmr::monotonic_buffer_resource resource(room.data(), room.size());
#else
  std::pmr::monotonic_buffer_resource resource(room.data(), room.size(), std::pmr::null_memory_resource());
#endif
  std::printf("%zu\n", Collect(&resource, 50));
}
