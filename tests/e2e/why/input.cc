// A number from a file is used as an index.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

struct Header {
  unsigned version;
  unsigned place;
};

long g_sizes[4] = {1, 2, 3, 4};

__attribute__((noinline)) bool Load(const char* path, Header* header) {
  const int file = open(path, O_RDONLY);
  return read(file, header, sizeof *header) == sizeof *header;  // cause
}

__attribute__((noinline)) long SizeOf(const Header& header) { return g_sizes[header.place]; }

int main(int, char** arguments) {
  Header header;
  if (!Load(arguments[1], &header)) return 1;
  std::printf("%ld\n", SizeOf(header));
}
