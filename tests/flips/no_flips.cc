// Uses pointers that lead nowhere because of a bug, and look as if one bit of them had flipped: no_flips WHAT.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct Item {
  int value = 7;
  Item* next = nullptr;
};

[[gnu::noinline]] int ValueOf(const Item* item) { return item->value; }
[[gnu::noinline]] int At(const int* values, size_t i) { return values[i]; }
[[gnu::noinline]] int* Advance(int* values, size_t i) { return values + i; }

// A megabyte too far: one bit, in the address and in the index.
int Index() {
  int* values = new int[16]();
  int* there =
      Advance(values, (reinterpret_cast<uintptr_t>(values) & 1 << 26) != 0 ? -(size_t{1} << 24) : size_t{1} << 24);
  return At(there, 3);
}

int OverTheEnd() {
  int* values = new int[16]();
  int sum = 0;
  for (size_t i = 0;; ++i) sum += At(values, i);
  return sum;
}

// The upper bits say something of the object, and once nobody takes them off.
constexpr uintptr_t kMark = uintptr_t{1} << 62;
Item* Marked(Item* item) { return reinterpret_cast<Item*>(reinterpret_cast<uintptr_t>(item) | kMark); }
int Tagged() {
  std::vector<Item*> items;
  for (int i = 0; i < 10; ++i) items.push_back(i % 3 == 0 ? Marked(new Item) : new Item);
  int sum = 0;
  for (const Item* item : items) sum += ValueOf(item);
  return sum;
}

// It is gone; another mapping lies one bit away.
int Unmapped() {
  const size_t size = 1 << 20;
  char* all = static_cast<char*>(mmap(nullptr, 8 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* first = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(all) + 4 * size - 1) & ~(4 * size - 1));
  auto* item = new (first + size + 4096) Item;
  new (first + 4096) Item;
  munmap(first + size, 3 * size);
  return ValueOf(item);
}

int Freed() {
  std::vector<Item*> items;
  for (int i = 0; i < 8; ++i) items.push_back(new Item);
  for (int i = 0; i + 1 < 8; ++i) items[i]->next = items[i + 1];
  for (Item* item : items) std::free(item);
  asm volatile("" ::: "memory");
  return ValueOf(*reinterpret_cast<Item**>(items[5]));  // what the allocator has put there
}

int Text() {
  Item item;
  std::memcpy(&item.next, "next one", 8);
  return ValueOf(item.next);
}

int Small() { return ValueOf(reinterpret_cast<const Item*>(uintptr_t{0x1000})); }

[[gnu::noinline]] int Deep(int depth) {
  volatile char much[1 << 20];
  much[5] = static_cast<char>(depth);
  return Deep(depth + 1) + much[5];
}
int StackOverflow() { return Deep(0); }

// 32 bits of a pointer.
int Cut() {
  const auto* item = new Item;
  return ValueOf(
      reinterpret_cast<const Item*>(static_cast<intptr_t>(static_cast<int>(reinterpret_cast<intptr_t>(item)))));
}

int Random() { return ValueOf(reinterpret_cast<const Item*>(uintptr_t{0x6d2b79f5a3c1})); }

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, int (*)()> all = {{"index", Index},   {"over-the-end", OverTheEnd},
                                                {"tagged", Tagged}, {"unmapped", Unmapped},
                                                {"freed", Freed},   {"text", Text},
                                                {"small", Small},   {"stack-overflow", StackOverflow},
                                                {"cut", Cut},       {"random", Random}};
  if (count == 2 && std::strcmp(arguments[1], "--list") == 0) {
    for (const auto& [name, run] : all) std::puts(name.c_str());
    return 0;
  }
  const auto found = all.find(count == 2 ? arguments[1] : "");
  if (found == all.end()) return 2;
  std::printf("%d\n", found->second());
  return 0;
}
