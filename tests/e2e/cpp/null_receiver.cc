// A method is called on what a lookup did not find.
//
// frames: Price Total main
#include <cstdio>
#include <map>
#include <string>

struct Item {
  int price;
#ifdef CHANGED
  long discount = 0;
#endif
  int count;
  int Price() const { return price * count; }  // split
};

struct Shop {
  std::map<std::string, Item> items;
#ifdef CHANGED
  bool open = true;
#endif
  const Item* Find(const std::string& name) const {
    auto found = items.find(name);
    return found == items.end() ? nullptr : &found->second;
  }
};

// part
__attribute__((noinline)) int Total(const Shop& shop, const std::string& first, const std::string& second) {
  int total = 0;
  for (const auto& name : {first, second}) {
    const Item* item = shop.Find(name);
#ifdef FIXED
    if (!item) continue;
#endif
    total += item->Price();  // split
  }
  return total;
}
// end part

int main() {
  Shop shop;
  shop.items["pear"].price = 3;
  shop.items["pear"].count = 2;
  std::printf("%d\n", Total(shop, "pear", "plum"));
}
