// A file includes itself: the stack ends.
//
// frames: Expand main
#include <cstdio>
#include <map>
#include <string>

struct Source {
  std::map<std::string, std::string> includes;
  long lines = 0;
#ifdef FIXED
  int depth = 0;
#endif
};

__attribute__((noinline)) long Expand(Source& source, const std::string& file) {
#ifdef FIXED
  if (++source.depth > 50) return source.lines;
#endif
  ++source.lines;
  auto next = source.includes.find(file);
  if (next == source.includes.end()) return source.lines;
  std::string name = next->second;
  return Expand(source, name) + static_cast<long>(name.size());
}

int main() {
  Source source;
  source.includes = {{"main.c", "a.h"}, {"a.h", "b.h"}, {"b.h", "a.h"}};
  std::printf("%ld\n", Expand(source, "main.c"));
}
