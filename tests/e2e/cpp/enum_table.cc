// An enumeration chooses from a table of functions that has one entry fewer.
//
// frames: Act Play main
// input: NESWX
#include <cstdio>

enum class Move : unsigned char { kNorth, kEast, kSouth, kWest, kNone };

struct Place {
  int x = 0, y = 0;
};

void North(Place& place) { ++place.y; }
void East(Place& place) { ++place.x; }
void South(Place& place) { --place.y; }
void West(Place& place) { --place.x; }

struct Moves {
  void (*functions[5])(Place&) = {North, East, South, West};
};

__attribute__((noinline)) Move Read(int letter) {
  switch (letter) {
    case 'N':
      return Move::kNorth;
    case 'E':
      return Move::kEast;
    case 'S':
      return Move::kSouth;
    case 'W':
      return Move::kWest;
    default:
      return Move::kNone;
  }
}

__attribute__((noinline)) int Act(const Moves& moves, Place& place, Move move) {
#ifdef FIXED
  if (move == Move::kNone) return 0;
#endif
  moves.functions[static_cast<int>(move)](place);
  return place.x + place.y;
}

__attribute__((noinline)) int Play(const Moves& moves, std::FILE* input) {
  Place place;
  int sum = 0;
  for (int letter; (letter = std::fgetc(input)) >= 'A';) sum += Act(moves, place, Read(letter));
  return sum;
}

int main(int argc, char** argv) {
  std::FILE* input = std::fopen(argv[argc - 1], "r");
  if (!input) return 1;
  std::printf("%d\n", Play(Moves(), input));
  std::fclose(input);
}
