// A facet of a locale that is not in it: std::bad_cast, which nobody catches.
//
// frames: Group Show main
#include <cstdio>
#include <locale>
#include <sstream>
#include <string>

struct Units : std::locale::facet {
  static std::locale::id id;
  virtual std::string Name() const { return " kg"; }
};
std::locale::id Units::id;

__attribute__((noinline)) std::string Group(const std::locale& locale, long number) {
  std::ostringstream out;
  out.imbue(locale);
  out << number;
#ifdef FIXED
  if (!std::has_facet<Units>(locale)) return out.str();
#endif
  return out.str() + std::use_facet<Units>(locale).Name();
}

__attribute__((noinline)) size_t Show(const std::locale* locales, int count) {
  size_t letters = 0;
  for (int i = 0; i < count; ++i) letters += Group(locales[i], 1234567).size();
  return letters;
}

int main() {
  const std::locale locales[] = {std::locale(std::locale::classic(), new Units), std::locale::classic()};
  std::printf("%zu\n", Show(locales, 2));
}
