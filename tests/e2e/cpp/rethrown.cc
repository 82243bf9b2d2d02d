// A handler replaces an exception by another one, which nobody catches.
//
// frames: Load Start main
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

struct Settings {
  std::map<std::string, int> numbers;
#ifdef CHANGED
  std::string file = "settings";
#endif
};

__attribute__((noinline)) int Load(const Settings& settings, const std::string& name) {
  try {
    return settings.numbers.at(name);
  } catch (const std::out_of_range&) {
#ifdef FIXED
    return 0;
#else
    throw std::runtime_error("no setting " + name);
#endif
  }
}

__attribute__((noinline)) int Start(const Settings& settings) {
  return Load(settings, "width") * Load(settings, "height");
}

int main() {
  Settings settings;
  settings.numbers["width"] = 80;
  std::printf("%d\n", Start(settings));
}
