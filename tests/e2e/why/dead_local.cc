// A pointer outlives the variable that it points to.
#include <cstdio>

struct Reader {
  const char* const* text;
};

__attribute__((noinline)) void Use(volatile long* words) {
  for (int i = 0; i < 32; ++i) words[i] = i;
}

__attribute__((noinline)) void Overwrite() {
  volatile long words[32];
  Use(words);
}

__attribute__((noinline)) void Keep(Reader* reader, const char* const* text) { reader->text = text; }

__attribute__((noinline)) void Open(Reader* reader) {
  const char* text = "abc";
  Keep(reader, &text);  // cause
}

__attribute__((noinline)) char First(const Reader& reader) { return **reader.text; }

int main() {
  Reader reader;
  Open(&reader);
  Overwrite();
  std::printf("%c\n", First(reader));
}
