// A lambda in a thread calls a method of an object that the thread has by reference. All of it is inlined into the
// library's code, and nothing points to the object any more.
//
// frames: Cost Total
// flags: -pthread
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Item {
  std::string name;
  std::unique_ptr<int> price;
};

class Store {
 public:
  void Add(std::string name, int price) {
    items_.push_back({std::move(name), price ? std::make_unique<int>(price) : nullptr});
  }
  int Total(size_t from, size_t to) const {
    int sum = 0;
    for (size_t i = from; i < to; ++i) sum += Cost(items_[i]);
    return sum;
  }

 private:
#ifdef FIXED
  static int Cost(const Item& item) { return item.price ? *item.price : 0; }
#else
  static int Cost(const Item& item) { return *item.price; }
#endif
#ifdef CHANGED
  long opened_ = 1;
#endif
  std::vector<Item> items_;
};

int main(int argc, char**) {
  Store store;
  for (int i = 0; i < 8; ++i) store.Add("item" + std::to_string(i), i == 6 ? 0 : i + argc);
  int halves[2] = {};
  std::vector<std::thread> threads;
  for (int part = 0; part < 2; ++part)
    threads.emplace_back([&store, &halves, part] { halves[part] = store.Total(part * 4, part * 4 + 4); });
  for (std::thread& thread : threads) thread.join();
  std::printf("%d\n", halves[0] + halves[1]);
}
