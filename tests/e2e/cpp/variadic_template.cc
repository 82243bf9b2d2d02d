// A pack of arguments of several types: one of the pointers in it is null.
//
// frames: Show ShowAll main
#include <cstdio>
#include <string>

struct Log {
  std::string text;
  int items = 0;
};

__attribute__((noinline)) void Show(Log& log, int value) { log.text += std::to_string(value); }
__attribute__((noinline)) void Show(Log& log, const std::string* value) {
#ifdef FIXED
  if (!value) return;
#endif
  log.text += *value;  // split
}

template <typename... Values>
__attribute__((noinline)) size_t ShowAll(Log& log, Values... values) {
  ((Show(log, values), ++log.items), ...);
  return log.text.size();
}

int main() {
  Log log;
  const std::string first = "first";
  const std::string* none = log.items ? &first : nullptr;
  std::printf("%zu\n", ShowAll(log, 1, &first, none, 3));
}
