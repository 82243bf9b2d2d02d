// A std::function that holds nothing is called: an exception that nobody catches.
//
// frames: Notify Change main
#include <cstdio>
#include <functional>
#include <string>

struct Setting {
  std::string name;
#ifdef CHANGED
  std::string help;
#endif
  int value = 0;
  std::function<int(const std::string&, int)> changed;
};

__attribute__((noinline)) int Notify(const Setting& setting, int old) {
#ifdef FIXED
  if (!setting.changed) return 0;
#endif
  return setting.changed(setting.name, old);  // split
}

// part
__attribute__((noinline)) int Change(Setting* settings, int count, int value) {
  int told = 0;
  for (int i = 0; i < count; ++i) {
    int old = settings[i].value;
    settings[i].value = value;
    told += Notify(settings[i], old);
  }
  return told;
}
// end part

int main() {
  Setting settings[2];
  settings[0].name = "volume";
  settings[1].name = "brightness, with a name that needs a block of its own";
  settings[0].changed = [](const std::string& name, int old) { return static_cast<int>(name.size()) + old; };
  std::printf("%d\n", Change(settings, 2, 11));
}
