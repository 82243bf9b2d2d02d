// A function with a variable number of arguments reads one that is not there as a text.
//
// frames: Format Warn main
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

__attribute__((noinline)) size_t Format(std::string& out, const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  for (const char* at = format; *at; ++at) {
    if (*at != '%') {
      out += *at;
    } else if (*++at == 's') {
      const char* text = va_arg(rest, const char*);
#ifdef FIXED
      if (reinterpret_cast<size_t>(text) < 4096) continue;
#endif
      out.append(text, std::strlen(text));  // split
    } else {
      out += std::to_string(va_arg(rest, long));
    }
  }
  va_end(rest);
  return out.size();
}

__attribute__((noinline)) size_t Warn(std::string& out, int line) {
  size_t size = Format(out, "line %d: %s\n", 12l, "unused");
  return size + Format(out, "line %d: %s\n", 13l, static_cast<long>(line));
}

int main(int argc, char**) {
  std::string out;
  std::printf("%d\n", Warn(out, argc + 6) > 0);
}
