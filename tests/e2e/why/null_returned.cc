// A look-up finds nothing, and nobody asks.
#include <cstdio>
#include <map>
#include <string>

struct Article {
  std::string name;
  int cents = 0;
  int Price(int count) const { return cents * count; }
};

class Stock {
 public:
  void Add(const std::string& code, int cents) { articles_[code] = {code, cents}; }
  const Article* Find(const std::string& code) const {
    const auto it = articles_.find(code);
    return it == articles_.end() ? nullptr : &it->second;  // cause
  }

 private:
  std::map<std::string, Article> articles_;
};

int Total(const Stock& stock, const char* code) {
  const Article* article = stock.Find(code);
  return article->Price(2);
}

int main() {
  Stock stock;
  stock.Add("A-1", 100);
  std::printf("%d\n", Total(stock, "A-1") + Total(stock, "B-7"));
}
