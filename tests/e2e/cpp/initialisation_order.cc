// Members are initialised in the order of the class, not in that of the list.
//
// frames: Length Parser Open main
#include <cstdio>
#include <cstring>
#include <new>

__attribute__((noinline)) size_t Length(const char* const* text) { return std::strlen(*text); }

class Parser {
 public:
  __attribute__((noinline)) explicit Parser(const char* text) : text_(text), length_(Length(&text_)) {}
  size_t length() const { return length_; }

 private:
#ifdef FIXED
  const char* text_;
  size_t length_;
#else
  size_t length_;
  const char* text_;
#endif
};

alignas(Parser) char room[sizeof(Parser)];

__attribute__((noinline)) size_t Open(const char* text) { return (new (room) Parser(text))->length(); }

int main(int argc, char** argv) { std::printf("%d\n", Open(argv[argc - 1]) > 0); }
