// A cache that throws out its oldest entry, and forgets to take it out of the index. Later the index leads to the entry
// that took its place.
//
// frames: Verify Get Serve main
// input: a b c d a e f g b h a c
#include <cassert>
#include <cstdio>
#include <fstream>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

struct Page {
  std::string key;
  std::string text;
  int hits = 0;
#ifdef CHANGED
  long stored_at = 0;
#endif
  unsigned sum = 0;
};

unsigned SumOf(const std::string& key, const std::string& text) {
  unsigned sum = 17;
  for (char letter : key + text) sum = sum * 31 + static_cast<unsigned char>(letter);
  return sum;
}

class Cache {
 public:
  explicit Cache(size_t capacity) : capacity_(capacity) {}

  __attribute__((noinline)) const Page* Get(const std::string& key) {
    auto found = index_.find(key);
    if (found == index_.end()) {
      ++misses_;
      return nullptr;
    }
    Page& page = *found->second;
    ++page.hits;
    pages_.splice(pages_.begin(), pages_, found->second);
    Verify(page, key);
    return &page;
  }

  __attribute__((noinline)) const Page& Put(const std::string& key, const std::string& text) {
    if (pages_.size() >= capacity_) Evict();
    pages_.push_front({});
    Page& page = pages_.front();
    page.key = key;
    page.text = text;
    page.sum = SumOf(key, text);
    index_[key] = pages_.begin();
    return page;
  }

  size_t misses() const { return misses_; }

 private:
  __attribute__((noinline)) void Verify(const Page& page, const std::string& key) const {
    assert(page.sum == SumOf(key, page.text));  // split
  }

  void Evict() {
#ifdef FIXED
    index_.erase(pages_.back().key);
#endif
    pages_.pop_back();
  }

  size_t capacity_;
  size_t misses_ = 0;
  std::list<Page> pages_;
  std::unordered_map<std::string, std::list<Page>::iterator> index_;
};

class Server {
 public:
  explicit Server(size_t pages) : cache_(pages) {}

  __attribute__((noinline)) size_t Serve(const std::string& key) {
    if (const Page* page = cache_.Get(key)) return page->text.size();
    std::string text = "<h1>" + key + "</h1>";
    for (int i = 0; i < 3; ++i) text += "<p>" + std::string(static_cast<size_t>(key[0] - 'a' + 1), 'x') + "</p>";
    return cache_.Put(key, text).text.size();
  }

  size_t misses() const { return cache_.misses(); }

 private:
  Cache cache_;
};

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  Server server(4);
  size_t bytes = 0;
  for (std::string key; input >> key;) bytes += server.Serve(key);
  std::printf("%zu %zu\n", bytes, server.misses());
}
