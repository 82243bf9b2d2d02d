// A list of owners: its destructor is called once for each element, inside each other, and the stack ends.
//
// frames: Clear main
#include <cstdio>
#include <memory>

struct Link {
  std::unique_ptr<Link> next;
  char text[40] = {};
};

__attribute__((noinline)) int Clear(std::unique_ptr<Link>& first) {
#ifdef FIXED
  while (first) first = std::move(first->next);
#endif
  first.reset();
  return first == nullptr;
}

int main() {
  std::unique_ptr<Link> first;
  for (int i = 0; i < 400000; ++i) {
    auto link = std::make_unique<Link>();
    link->next = std::move(first);
    first = std::move(link);
  }
  std::printf("%d\n", Clear(first));
}
