// A destructor uses what another one has taken away.
//
// frames: Leave ~Member Work main
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct Club {
  std::unique_ptr<std::vector<std::string>> names = std::make_unique<std::vector<std::string>>();
#ifdef CHANGED
  int founded = 1848;
#endif
  int left = 0;
  __attribute__((noinline)) void Leave(const std::string& name) {
#ifdef FIXED
    if (!names) return;
#endif
    for (auto& other : *names) left += other == name;  // split
  }
};

struct Member {
  Member(Club* club, std::string name) : club(club), name(std::move(name)) { club->names->push_back(this->name); }
  __attribute__((noinline)) ~Member() { club->Leave(name); }
  Club* club;
  std::string name;
};

__attribute__((noinline)) int Work(Club* club) {
  Member first(club, "Ada");
  Member second(club, "Grace");
  club->names.reset();
  return club->left;
}

int main() {
  Club club;
  std::printf("%d\n", Work(&club));
}
