// A variable is used before main has begun, before its own constructor has run.
//
// frames: Register Plugin
#include <cstdio>
#include <map>
#include <memory>
#include <string>

struct Registry {
  std::map<std::string, int>* names;
  explicit Registry(std::map<std::string, int>* names) : names(names) {}
};

std::map<std::string, int>& Names() {
  static std::map<std::string, int> names;
  return names;
}

extern Registry registry;

__attribute__((noinline)) void Register(const char* name) {
#ifdef FIXED
  ++Names()[name];
#else
  ++(*registry.names)[name];
#endif
}

struct Plugin {
  __attribute__((noinline)) explicit Plugin(const char* name) : name(name) { Register(name); }
  const char* name;
};

Plugin plugin("first");
Registry registry(&Names());

int main() { std::printf("%s %zu\n", plugin.name, registry.names->size()); }
