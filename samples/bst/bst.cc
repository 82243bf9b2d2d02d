// A binary search tree over keys of any class, with three ways to go wrong:
//   bst cast      a node of another class is handed to a function that casts to a reference
//   bst key       a text key is looked up in a tree of numbers
//   bst encoding  a tree is read back from a file in an encoding that nobody knows
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

#define NOINLINE __attribute__((noinline))

struct Node {
  virtual ~Node() = default;
};

using Key = std::variant<long, std::string>;

struct KeyNode : Node {
  explicit KeyNode(Key k) : key(std::move(k)) {}
  Key key;
  std::unique_ptr<Node> left;
  std::unique_ptr<Node> right;
};

struct Tombstone : Node {
  int removed_at = 0;
};

enum class Encoding : int { kText = 1, kBinary = 2, kPacked = 3 };

class Tree {
 public:
  NOINLINE void Insert(const Key& key) { InsertBelow(&root_, key); }

  NOINLINE bool Contains(const Key& key) const {
    const Node* at = root_.get();
    while (at) {
      int order = Compare(key, KeyOf(*at));
      if (order == 0) return true;
      const auto& node = static_cast<const KeyNode&>(*at);
      at = (order < 0 ? node.left : node.right).get();
    }
    return false;
  }

  NOINLINE void Remove(const Key& key) {
    if (root_ && Compare(key, KeyOf(*root_)) == 0) root_ = std::make_unique<Tombstone>();
  }

  NOINLINE int Load(const char* text, Encoding encoding) {
    int loaded = 0;
    for (const char* at = text; *at; ++at) {
      Insert(Decode(*at, encoding));
      ++loaded;
    }
    return loaded;
  }

 private:
  // Each node of a tree that was never pruned is a KeyNode; the cast throws std::bad_cast at a tombstone.
  NOINLINE static const Key& KeyOf(const Node& node) { return dynamic_cast<const KeyNode&>(node).key; }

  // Keys of one tree are all numbers or all texts; std::get throws std::bad_variant_access when they are not.
  NOINLINE static int Compare(const Key& a, const Key& b) {
    if (std::holds_alternative<long>(b)) {
      long x = std::get<long>(a), y = std::get<long>(b);
      return x < y ? -1 : x > y;
    }
    return std::get<std::string>(a).compare(std::get<std::string>(b));
  }

  NOINLINE static long Decode(char letter, Encoding encoding) {
    switch (encoding) {
      case Encoding::kText:
        return letter - '0';
      case Encoding::kBinary:
        return letter;
      default:
        throw std::runtime_error("unknown encoding " + std::to_string(static_cast<int>(encoding)));
    }
  }

  NOINLINE static void InsertBelow(std::unique_ptr<Node>* link, const Key& key) {
    while (*link) {
      auto& node = static_cast<KeyNode&>(**link);
      link = Compare(key, node.key) < 0 ? &node.left : &node.right;
    }
    *link = std::make_unique<KeyNode>(key);
  }

  std::unique_ptr<Node> root_;
};

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  Tree tree;
  for (long key : {50, 25, 75, 10, 60}) tree.Insert(key);
  if (!std::strcmp(what, "cast")) {
    tree.Remove(50L);
    std::printf("%d\n", tree.Contains(60L));
  } else if (!std::strcmp(what, "key")) {
    std::printf("%d\n", tree.Contains(std::string("sixty")));
  } else if (!std::strcmp(what, "encoding")) {
    Tree other;
    std::printf("%d\n", other.Load("7421", static_cast<Encoding>(7)));
  } else {
    std::fprintf(stderr, "usage: bst cast|key|encoding\n");
    return 2;
  }
}
