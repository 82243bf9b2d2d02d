// std::map: a key that is not there ends in an exception that nobody catches.
//
// frames: Translate Render main
#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct Dictionary {
  std::map<std::string, std::string, std::less<>> words;
#ifdef CHANGED
  std::string language = "de";
#endif
  mutable int asked = 0;
};

__attribute__((noinline)) const std::string& Translate(const Dictionary& dictionary, const std::string& word) {
  ++dictionary.asked;
#ifdef FIXED
  if (!dictionary.words.count(word)) return word;
#endif
  return dictionary.words.at(word);  // split
}

__attribute__((noinline)) std::string Render(const Dictionary& dictionary, const std::vector<std::string>& sentence) {
  std::string text;
  for (const auto& word : sentence) text += Translate(dictionary, word) + ' ';
  return text;
}

int main() {
  Dictionary dictionary;
  dictionary.words = {{"one", "eins"}, {"two", "zwei"}};
  std::printf("%s\n", Render(dictionary, {"one", "two", "three"}).c_str());
}
