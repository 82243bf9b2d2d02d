// A static variable of a function keeps what the first call found.
//
// frames: Default Convert main
#include <cstdio>
#include <map>
#include <string>

struct Unit {
  double factor;
};

std::map<std::string, Unit> units;

__attribute__((noinline)) double Default(double value) {
#ifdef FIXED
  auto found = units.find("m");
  return found == units.end() ? value : value * found->second.factor;
#else
  static const Unit* unit = units.count("m") ? &units["m"] : nullptr;
  return value * unit->factor;
#endif
}

__attribute__((noinline)) double Convert(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += Default(values[i]);
  return sum;
}

int main(int argc, char**) {
  const double values[] = {1, 2, 3};
  if (argc > 3) units["m"].factor = 100;
  double sum = Convert(values, 3);
  units["m"].factor = 100;
  std::printf("%.1f\n", sum + Convert(values, 3));
}
