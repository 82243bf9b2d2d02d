// An exception that is of no class of the standard library, with fields of its own.
//
// frames: Expect Parse main
#include <cstdio>
#include <string>
#include <string_view>

struct SyntaxError {
  int line;
  std::string expected;
};

struct Input {
  std::string_view text;
  int line = 1;
};

__attribute__((noinline)) void Expect(Input& input, char letter) {
  if (input.text.empty() || input.text[0] != letter) throw SyntaxError{input.line, std::string(1, letter)};
  input.text.remove_prefix(1);
}

__attribute__((noinline)) int Parse(Input& input) {
  int depth = 0;
  while (!input.text.empty() && input.text[0] == '(') {
    Expect(input, '(');
    ++depth;
  }
#ifdef FIXED
  for (int i = 0; i < depth && !input.text.empty(); ++i) Expect(input, ')');
#else
  for (int i = 0; i < depth; ++i) Expect(input, ')');
#endif
  return depth;
}

int main() {
  Input input{"((()"};
  input.text = "((())";
  std::printf("%d\n", Parse(input));
}
