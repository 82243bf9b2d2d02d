// Functions and classes of an anonymous namespace, and one of a namespace of that name elsewhere.
//
// frames: Share Divide main
#include <cstdio>

namespace cake {
namespace {

struct Party {
  int pieces;
#ifdef CHANGED
  char kind[12] = "plain";
#endif
  int guests;
};

__attribute__((noinline)) int Share(const Party& party) {
#ifdef FIXED
  if (party.guests == 0) return 0;
#endif
  return party.pieces / party.guests;  // split
}

}  // namespace

__attribute__((noinline)) int Divide(int pieces, int guests) {
  int given = 0;
  for (; guests >= 0; --guests) {
    Party party;
    party.pieces = pieces;
    party.guests = guests;
    given += Share(party);
  }
  return given;
}

}  // namespace cake

int main(int argc, char**) { std::printf("%d\n", cake::Divide(24, argc + 2)); }
