// A reference to a local of a function that has returned.
//
// frames: Length Longest main
#include <cstdio>
#include <string>
#include <vector>

struct Entry {
  std::string word;
  const std::string* better = nullptr;
};

__attribute__((noinline)) size_t Length(const Entry& entry) {
  const std::string& word = entry.better ? *entry.better : entry.word;
  size_t vowels = 0;
  for (char letter : word) vowels += letter == 'a' || letter == 'e';  // split
  return vowels;
}

#ifdef FIXED
__attribute__((noinline)) void Improve(Entry& entry) { entry.word += "e"; }
#else
__attribute__((noinline)) void Improve(Entry& entry) {
  std::string improved = entry.word + "e";
  entry.better = &improved;
}
#endif

__attribute__((noinline)) size_t Clobber(size_t seed) {
  volatile size_t words[64];
  for (size_t i = 0; i < 64; ++i) words[i] = 0x1000 + seed + i;
  return words[7];
}

__attribute__((noinline)) size_t Longest(std::vector<Entry>& entries) {
  size_t most = 0;
  for (Entry& entry : entries) {
    Improve(entry);
    size_t noise = Clobber(most) & 1;
    size_t length = Length(entry) + noise - noise;
    if (length > most) most = length;
  }
  return most;
}

int main() {
  std::vector<Entry> entries(2);
  entries[0].word = "a word that is longer than the small buffer of a string";
  entries[1].word = "short";
  std::printf("%zu\n", Longest(entries));
}
