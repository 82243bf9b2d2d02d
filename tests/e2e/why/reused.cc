// A freed block has another owner by the time that it is read.
#include <cstdio>
#include <cstdlib>

struct Node {
  Node* next;
  long value;
};

struct Stamp {
  long at;
  long by;
};

__attribute__((noinline)) Node* Push(Node* list, long value) {
  auto* node = static_cast<Node*>(std::malloc(sizeof(Node)));
  node->next = list;
  node->value = value;
  return node;
}

__attribute__((noinline)) void Drop(Node* node) {
  std::free(node);  // cause
}

__attribute__((noinline)) Stamp* Mark(long at) {
  auto* stamp = static_cast<Stamp*>(std::malloc(sizeof(Stamp)));
  stamp->at = at;
  stamp->by = 1;
  return stamp;
}

__attribute__((noinline)) long Sum(const Node* list) {
  long sum = 0;
  for (; list; list = list->next) sum += list->value;
  return sum;
}

int main() {
  Node* first = Push(nullptr, 1);
  Node* second = Push(first, 2);
  Drop(first);
  Stamp* stamp = Mark(77);
  std::printf("%ld %ld\n", Sum(second), stamp->at);
}
