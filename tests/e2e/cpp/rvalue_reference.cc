// A string taken by rvalue reference is read after it was moved from.
//
// frames: First Store main
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

__attribute__((noinline)) char First(const std::string& word) { return word.at(0); }  // split

__attribute__((noinline)) char Store(std::vector<std::string>& words, std::string&& word) {
#ifdef FIXED
  words.push_back(word);
#else
  words.push_back(std::move(word));
#endif
  return First(word);
}

int main() {
  std::vector<std::string> words;
  std::printf("%c\n", Store(words, std::string("a word that does not fit into the string itself")));
}
