// A flag that was set long before leads to where nothing is prepared.
#include <cstdio>
#include <cstring>

struct Settings {
  bool verbose;
  bool log;
};

__attribute__((noinline)) void Read(Settings* settings, const char* text) {
  settings->verbose = std::strchr(text, 'v') != nullptr;
  settings->log = std::strchr(text, 'l') != nullptr;  // cause
}

__attribute__((noinline)) int* Target(const Settings& settings) {
  static int counter;
  if (settings.log) return nullptr;
  return &counter;
}

__attribute__((noinline)) void Count(const Settings& settings) { ++*Target(settings); }

int main() {
  Settings settings;
  Read(&settings, "v");
  Count(settings);
  Read(&settings, "vl");
  Count(settings);
  std::printf("%d\n", settings.verbose);
}
