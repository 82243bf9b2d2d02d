// A header with an array of unknown length behind it: the length in the header is too large.
//
// frames: Sum Read main
#include <cstdio>
#include <cstdlib>

struct Block {
  unsigned length;
  int values[];
};

__attribute__((noinline)) long Sum(const Block* block) {
  long sum = 0;
  for (unsigned i = 0; i < block->length; i += 512) sum += block->values[i];  // split
  return sum;
}

// part
__attribute__((noinline)) long Read(unsigned length, unsigned limit) {
  auto* block = static_cast<Block*>(calloc(1, sizeof(Block) + (length < limit ? length : limit) * sizeof(int)));
#ifdef FIXED
  block->length = length < limit ? length : limit;
#else
  block->length = length;
#endif
  long sum = Sum(block);
  free(block);
  return sum;
}
// end part

int main() { std::printf("%ld\n", Read(1u << 30, 64)); }
