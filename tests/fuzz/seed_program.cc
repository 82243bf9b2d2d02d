// The program that the symbol reader's fuzzer begins with: small, with types, inlined calls and call sites.
struct Node {
  Node* next;
  union {
    long number;
    double weight;
  };
  unsigned flag : 3;
  virtual long Sum(const char (&name)[4], double by) const;
};

namespace {
enum class Colour { kRed = -1, kGreen };
inline long Half(long value) { return value / 2; }
__attribute__((noinline)) long Walk(const Node* node, Colour colour, int depth) {
  long values[3] = {depth, static_cast<long>(colour), node->number};
  if (depth > 100) return Half(values[depth % 3]);
  return Walk(node->next, colour, depth + 1) + values[depth % 3];
}
}  // namespace

long Node::Sum(const char (&name)[4], double by) const {
  return name[0] + static_cast<long>(by) + Walk(this, Colour::kGreen, 0);
}

extern "C" int main(int count, char**) {
  Node node{};
  node.number = count;
  return static_cast<int>(node.Sum("abc", 1.5));
}
