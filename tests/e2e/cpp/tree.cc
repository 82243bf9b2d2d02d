// A recursive function over a tree of owners: a node that has one child only.
//
// frames: Depth Depth Balance main
#include <cstdio>
#include <memory>

struct Node {
  int key;
#ifdef CHANGED
  int colour = 0;
  Node* parent = nullptr;
#endif
  std::unique_ptr<Node> left, right;
  explicit Node(int key) : key(key) {}
};

__attribute__((noinline)) int Depth(const Node* node) {
#ifdef FIXED
  if (!node) return 0;
#endif
  if (!node->left && !node->right) return 1;  // leaf
  int left = Depth(node->left.get()), right = Depth(node->right.get());
  return (left > right ? left : right) + 1;
}

// part
__attribute__((noinline)) int Balance(const Node* root) { return Depth(root->left.get()) - Depth(root->right.get()); }
// end part

void Insert(std::unique_ptr<Node>& at, int key) {
  if (!at) {
    at = std::make_unique<Node>(key);
  } else {
    Insert(key < at->key ? at->left : at->right, key);
  }
}

int main() {
  std::unique_ptr<Node> root;
  for (int key : {8, 4, 12, 2, 6, 14, 13}) Insert(root, key);
  std::printf("%d\n", Balance(root.get()));
}
