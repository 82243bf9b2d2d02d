// A stream buffer of the program's own writes through a pointer that was never set.
//
// frames: overflow Write main
#include <cstdio>
#include <ostream>
#include <streambuf>
#include <string>

class Counter : public std::streambuf {
 public:
  int* lines = nullptr;
  int letters = 0;

 protected:
  __attribute__((noinline)) int overflow(int letter) override {
    ++letters;
#ifdef FIXED
    if (lines)
#endif
      if (letter == '\n') ++*lines;  // split
    return letter;
  }
};

__attribute__((noinline)) bool Write(std::ostream& out, const std::string& text) {
  out << "text: " << text << '\n';
  return out.good();
}

int main() {
  Counter counter;
  std::ostream out(&counter);
  bool good = Write(out, "one") && Write(out, "two");
  std::printf("%d %d\n", good, counter.letters);
}
