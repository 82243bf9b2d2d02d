// Flips one bit of itself, as bad memory does, then goes on: flips WHAT BIT [again]. A replay of it does the same
// again, which bad memory does not: so the flip needs a file that is then gone, but for `again`.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

int g_bit = 0;
bool g_is_again = false;

// What a word in memory is after the fault.
void Flip(void* word) {
  if (!g_is_again && unlink("flip-once") != 0) return;
  uint64_t value;
  std::memcpy(&value, word, sizeof value);
  value ^= uint64_t{1} << g_bit;
  std::memcpy(word, &value, sizeof value);
  unsigned char resident;
  const bool is_mapped = mincore(reinterpret_cast<void*>(value & ~uint64_t{4095}), 1, &resident) == 0;
  std::puts(is_mapped ? "leads elsewhere" : "leads nowhere");
  std::fflush(stdout);
}

struct Node {
  int value = 0;
  Node* next = nullptr;
};

[[gnu::noinline]] int SumOf(const Node* node) {
  int sum = 0;
  for (; node != nullptr; node = node->next) sum += node->value;
  return sum;
}

int List() {
  Node nodes[2] = {{1, nullptr}, {2, nullptr}};
  auto* last = new Node{3, nullptr};
  auto* middle = new Node{4, last};
  nodes[0].next = middle;
  Flip(&middle->next);
  return SumOf(nodes);
}

struct Tree {
  int key = 0;
  Tree* left = nullptr;
  Tree* right = nullptr;
};

[[gnu::noinline]] Tree* Insert(Tree* tree, int key) {
  if (tree == nullptr) return new Tree{key};
  (key < tree->key ? tree->left : tree->right) = Insert(key < tree->key ? tree->left : tree->right, key);
  return tree;
}

[[gnu::noinline]] int DepthOf(const Tree* tree) {
  return tree == nullptr ? 0 : 1 + std::max(DepthOf(tree->left), DepthOf(tree->right));
}

int DepthOfTree() {
  Tree* tree = nullptr;
  for (int i = 0; i < 200; ++i) tree = Insert(tree, i * 7919 % 211);
  Flip(&tree->right->left);
  return DepthOf(tree);
}

struct Shape {
  virtual ~Shape() = default;
  virtual int Area() const = 0;
};
struct Square : Shape {
  explicit Square(int side) : side(side) {}
  int Area() const override { return side * side; }
  int side;
};
struct Circle : Shape {
  int Area() const override { return 3; }
};

[[gnu::noinline]] int AreaOf(const std::vector<Shape*>& shapes) {
  int area = 0;
  for (const Shape* shape : shapes) area += shape->Area();
  return area;
}

int VirtualTable() {  // the object's pointer to its class
  const std::vector<Shape*> shapes = {new Square(2), new Circle, new Square(3)};
  Flip(shapes[1]);
  return AreaOf(shapes);
}

int VirtualObject() {
  std::vector<Shape*> shapes = {new Square(2), new Circle, new Square(3)};
  Flip(&shapes[2]);
  return AreaOf(shapes);
}

[[gnu::noinline]] size_t CountSpaces(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += c == ' ';
  return count;
}

int Text() {
  auto text = std::make_unique<std::string>("a text that is too long to lie within its object");
  Flip(text.get());
  return static_cast<int>(CountSpaces(*text));
}

[[gnu::noinline]] bool IsSame(const std::string& a, const std::string& b) { return a == b; }

int TextInLibrary() {
  std::vector<std::string> texts(5, "a text that is too long to lie within its object");
  Flip(&texts[3]);
  return IsSame(texts[1], texts[3]) ? 1 : 0;
}

struct Table {
  size_t size = 0;
  int* values = nullptr;
};

[[gnu::noinline]] int SumOf(const Table& table) {
  int sum = 0;
  for (size_t i = 0; i < table.size; ++i) sum += table.values[i];
  return sum;
}

int Array() {
  Table table{100, new int[100]()};
  Flip(&table.values);
  return SumOf(table);
}

[[gnu::noinline]] int At(const Table& table, size_t i) { return table.values[i]; }

int ArrayIndex() {
  Table table{100, new int[100]()};
  Flip(&table.values);
  return At(table, 77);
}

struct Handler {
  const char* name;
  int (*call)(int);
};

[[gnu::noinline]] int Double(int value) { return 2 * value; }
[[gnu::noinline]] int Square3(int value) { return value * value * value; }

[[gnu::noinline]] int CallAll(const std::vector<Handler>& handlers) {
  int sum = 0;
  for (const Handler& handler : handlers) sum += handler.call(3);
  return sum;
}

int Function() {
  std::vector<Handler> handlers = {{"double", Double}, {"cube", Square3}};
  Flip(&handlers[1].call);
  return CallAll(handlers);
}

[[gnu::noinline]] int CountOf(const std::map<std::string, int>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

int Map() {
  std::map<std::string, int> map;
  for (int i = 0; i < 50; ++i) map["the key of number " + std::to_string(i)] = i;
  auto* root = reinterpret_cast<uint64_t**>(&map)[2];  // the header's parent
  Flip(&root[3]);                                      // its right child
  return CountOf(map, "the key of number 9");
}

Table g_table{3, nullptr};
int g_values[3] = {1, 2, 3};

int Static() {
  g_table.values = g_values;
  Flip(&g_table.values);
  return SumOf(g_table);
}

[[gnu::noinline]] int Length(const char* const* words, int count) {
  int length = 0;
  for (int i = 0; i < count; ++i) length += static_cast<int>(std::strlen(words[i]));
  return length;
}

int Literal() {
  const char* words[] = {"one", "two", "a third one, which is longer"};
  Flip(&words[2]);
  return Length(words, 3);
}

// ---- Code

[[gnu::noinline]] int Mix(const Table& table, int seed) {
  int mixed = seed;
  for (size_t i = 0; i < table.size; ++i) {
    const int value = table.values[i];
    if (value % 3 == 0)
      mixed = mixed * 31 + value;
    else if (value > mixed)
      mixed ^= value << 3;
    else
      mixed -= static_cast<int>(i);
  }
  return mixed;
}
[[gnu::noinline]] void EndOfMix() { asm volatile(""); }

// The bit counts from the beginning of a function. The kernel writes where the program may not.
int Code() {
  auto* const begin = reinterpret_cast<unsigned char*>(&Mix);
  unsigned char* byte = begin + g_bit / 8;
  const unsigned char changed = *byte ^ static_cast<unsigned char>(1 << g_bit % 8);
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (pwrite(memory, &changed, 1, reinterpret_cast<off_t>(byte)) != 1) return 0;
  close(memory);
  Table table{100, new int[100]};
  for (int i = 0; i < 100; ++i) table.values[i] = i * 37 % 101;
  alarm(2);  // it may never end
  return Mix(table, 12);
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, int (*)()> all = {{"list", List},
                                                {"tree", DepthOfTree},
                                                {"vtable", VirtualTable},
                                                {"object", VirtualObject},
                                                {"text", Text},
                                                {"text-in-library", TextInLibrary},
                                                {"array", Array},
                                                {"index", ArrayIndex},
                                                {"function", Function},
                                                {"map", Map},
                                                {"static", Static},
                                                {"literal", Literal},
                                                {"code", Code}};
  if (count == 2 && std::strcmp(arguments[1], "--list") == 0) {
    for (const auto& [name, run] : all) std::puts(name.c_str());
    return 0;
  }
  const auto found = all.find(count >= 3 ? arguments[1] : "");
  if (found == all.end()) return 2;
  g_is_again = count > 3;
  g_bit = std::atoi(arguments[2]);
  std::printf("%d\n", found->second());
  return 0;
}
