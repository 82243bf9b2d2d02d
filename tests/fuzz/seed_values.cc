// The program of the fuzzer of values: its functions take objects of all kinds that are shown as text.
#include <array>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

struct Item {
  std::string name;
  std::vector<int> parts;
  Item* next;
  union {
    double weight;
    long count;
  };
  bool is_set : 1;
  virtual ~Item() {}
};
struct Special : Item {
  std::map<std::string, Item> children;
};

extern "C" {
int First(Item* item, const std::string& name, std::vector<Item>& items, std::map<int, std::string>& names) {
  return item->next != nullptr && name.empty() && items.empty() && names.empty();
}
int Second(std::deque<int>& deque, std::list<std::string>& list, std::unordered_map<std::string, int>& table,
           std::set<long>& set, std::vector<bool>& bits) {
  return deque.empty() && list.empty() && table.empty() && set.empty() && bits.empty();
}
int Third(std::shared_ptr<Item>& shared, std::unique_ptr<Special>& unique, std::optional<std::string>& optional,
          std::variant<int, std::string>& variant, std::function<int(int)>& function) {
  return shared.use_count() == 0 && !unique && !optional && variant.index() == 0 && !function;
}
int Fourth(Special* special, std::string_view view, std::tuple<int, char, Item*> tuple, std::array<short, 4> array,
           const char* text) {
  return special->is_set && view.empty() && std::get<0>(tuple) == 0 && array[0] == 0 && *text == 0;
}
int main() {
  Special special;
  std::vector<Item> items;
  std::map<int, std::string> names;
  return First(&special, "a", items, names);
}
}
