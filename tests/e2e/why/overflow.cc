// A name that is too long for its place overwrites what stands behind it.
#include <cstdio>
#include <cstring>

struct Entry {
  char name[16];
  const long* price;
};

__attribute__((noinline)) void SetName(Entry* entry, const char* name) {
  for (size_t i = 0; i <= std::strlen(name); ++i) entry->name[i] = name[i];  // cause
}

__attribute__((noinline)) long Price(const Entry& entry) { return *entry.price; }

int main() {
  static const long price = 12;
  static Entry entries[2] = {{"", &price}, {"", &price}};
  SetName(&entries[0], "short");
  SetName(&entries[1], "a name for twenty-one");
  long sum = 0;
  for (const Entry& entry : entries) sum += Price(entry);
  std::printf("%ld\n", sum);
}
