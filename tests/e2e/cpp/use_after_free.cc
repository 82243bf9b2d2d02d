// A block is freed, and the class that still points to it reads through it.
//
// frames: Render Show main
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Font {
  const char* const* glyphs;
  int count;
};

struct Screen {
  Font* font;
  int drawn;
};

__attribute__((noinline)) size_t Render(Screen* screen, int letter) {
  ++screen->drawn;
  return std::strlen(screen->font->glyphs[letter % screen->font->count]);  // split
}

__attribute__((noinline)) Font* Load(const char* const* glyphs, int count) {
  auto* font = static_cast<Font*>(std::malloc(sizeof(Font)));
  font->glyphs = glyphs;
  font->count = count;
  return font;
}

__attribute__((noinline)) size_t Show(Screen* screen, const char* text) {
  size_t width = 0;
  for (; *text; ++text) width += Render(screen, *text);
  return width;
}

int main() {
  static const char* const glyphs[] = {"a", "bb", "ccc"};
  Screen screen{Load(glyphs, 3), 0};
  size_t width = Show(&screen, "abc");
#ifndef FIXED
  std::free(screen.font);
  std::memset(std::malloc(sizeof(Font)), 1, sizeof(Font));
#endif
  width += Show(&screen, "cba");
  std::printf("%zu\n", width);
}
