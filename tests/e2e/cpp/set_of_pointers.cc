// std::set with an order of its own: the comparison meets a null pointer.
//
// frames: operator() Insert main
#include <cstdio>
#include <set>
#include <string>

struct ByName {
  __attribute__((noinline)) bool operator()(const std::string* a, const std::string* b) const {
#ifdef FIXED
    if (!a || !b) return a < b;
#endif
    return *a < *b;  // split
  }
};

using Names = std::set<const std::string*, ByName>;

__attribute__((noinline)) size_t Insert(Names& names, const std::string* const* from, int count) {
  for (int i = 0; i < count; ++i) names.insert(from[i]);
  return names.size();
}

int main(int argc, char**) {
  const std::string first = "b", second = "a";
  const std::string* all[] = {&first, &second, argc > 4 ? &first : nullptr};
  Names names;
  std::printf("%zu\n", Insert(names, all, 3));
}
