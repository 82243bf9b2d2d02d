// Bit-fields: a count of three bits wraps round, and the assertion that compares it with the real one fails.
//
// frames: Check Fill main
#include <cassert>
#include <cstdio>

struct Packet {
  unsigned version : 2;
  unsigned urgent : 1;
#ifdef FIXED
  unsigned count : 5;
#else
  unsigned count : 3;
#endif
#ifdef CHANGED
  unsigned route : 9;
#endif
  unsigned parity : 1;
  const int* values;
};

__attribute__((noinline)) int Check(const Packet& packet, int written) {
  assert(static_cast<int>(packet.count) == written);  // split
  return packet.values[packet.count - 1];
}

__attribute__((noinline)) int Fill(Packet& packet, int amount) {
  int last = 0;
  for (int i = 1; i <= amount; ++i) {
    ++packet.count;
    packet.parity ^= 1;
    last = Check(packet, i);
  }
  return last;
}

int main() {
  int values[16] = {5, 6, 7};
  Packet packet{};
  packet.values = values;
  std::printf("%d\n", Fill(packet, 10));
}
