// Two lambdas of threads in one function, and a third that sorts.
//
// frames: Cost
// flags: -pthread
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

struct Item {
  std::unique_ptr<int> price;
  int id;
};

__attribute__((noinline)) int Cost(const Item& item) {
#ifdef FIXED
  return item.price ? *item.price : 0;
#else
  return *item.price;
#endif
}

int main(int argc, char**) {
  std::vector<Item> items;
  for (int i = 0; i < 6; ++i) items.push_back({i == 4 ? nullptr : std::make_unique<int>(i + argc), 6 - i});
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.id < b.id; });
  int first = 0, second = 0;
  std::thread one([&items, &first] {
    for (int i = 2; i < 6; ++i) first += Cost(items[i]);
  });
  one.join();
  std::thread two([&items, &second] {
    for (int i = 0; i < 2; ++i) second += Cost(items[i]);
  });
  two.join();
  std::printf("%d\n", first + second);
}
