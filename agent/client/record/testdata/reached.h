// What arguments reach, changed between the entry and the crash: for copies, where the kernel tracks no writes. Part of
// entries.cc. Addresses that a test asks for are printed, one a line: NAME ADDRESS.
#ifndef RECRASH_AGENT_CLIENT_RECORD_TESTDATA_REACHED_H_
#define RECRASH_AGENT_CLIENT_RECORD_TESTDATA_REACHED_H_

struct Node {
  Node* next;
  long value;
  char more[40];
};
Node* g_nodes[5];

QUIET void Print(const char* name, int number, const void* address) {
  printf("%s%d %p\n", name, number, address);
  fflush(stdout);
}
QUIET Node* MakeNodes(bool cyclic) {
  for (Node*& node : g_nodes) node = static_cast<Node*>(calloc(1, sizeof(Node)));
  for (int i = 0; i < 5; ++i) {
    g_nodes[i]->next = i < 4 ? g_nodes[i + 1] : cyclic ? g_nodes[0] : nullptr;
    g_nodes[i]->value = 100 + i;
    Print("node", i + 1, g_nodes[i]);
  }
  return g_nodes[0];
}
QUIET void ChangeNodes() {
  for (Node* node : g_nodes) node->value += 100;
}

NOINLINE int ReachedInner(Node* first) {
  BEGUN();
  ChangeNodes();
  return Crash(static_cast<int>(first->value)) + 1;
}
NOINLINE int ReachedOuter(Node* first) {
  BEGUN();
  ChangeNodes();
  return ReachedInner(first) + 1;
}
// The caller's own stack leads to nothing but the first node.
NOINLINE int Chain() { return ReachedOuter(MakeNodes(false)) + 1; }
NOINLINE int Cycle() { return ReachedOuter(MakeNodes(true)) + 1; }

// By an address inside, as of a second base, and by the seventh argument.
NOINLINE int InsideOuter(int, int, int, int, int, int, char* inside) {
  BEGUN();
  ChangeNodes();
  inside[0] = 'x';
  return Crash(1) + 1;
}
NOINLINE int Inside() { return InsideOuter(1, 2, 3, 4, 5, 6, MakeNodes(false)->more + 24) + 1; }

// One of the heap and one of its own mapping.
NOINLINE int BlockOuter(char* small, char* large) {
  BEGUN();
  memset(small, 'b', 100000);
  memset(large, 'b', 1000000);
  return Crash(2) + 1;
}
NOINLINE int Block() {
  char* small = static_cast<char*>(malloc(100000));
  char* large = static_cast<char*>(malloc(1000000));
  memset(small, 'a', 100000);
  memset(large, 'a', 1000000);
  Print("small", 0, small);
  Print("large", 0, large);
  return BlockOuter(small, large) + 1;
}

// Nothing of it can be followed, but for the first.
NOINLINE int WildOuter(Node*, uintptr_t, uintptr_t, char*, const char*, char*, char*, uintptr_t) {
  BEGUN();
  ChangeNodes();
  return Crash(3) + 1;
}
int (*volatile g_wild_outer)(Node*, uintptr_t, uintptr_t, char*, const char*, char*, char*, uintptr_t) = WildOuter;
NOINLINE int Wild() {
  char* area = Anonymous(3 * kPage);
  memset(area, 'w', 3 * kPage);
  mprotect(area, kPage, PROT_NONE);
  char* gone = Anonymous(kPage);
  munmap(gone, kPage);
  return g_wild_outer(MakeNodes(false), 0xdead000000000001, ~uintptr_t{0}, area + 10, "text", gone,
                      area + 3 * kPage - 3, 1) +
         1;
}

// More than there is time for.
NOINLINE int ManyOuter(Node** nodes) {
  BEGUN();
  for (int i = 0; i < 8000; ++i) nodes[i]->value = 1;
  return Crash(5) + 1;
}
NOINLINE int Many() {
  Node** nodes = static_cast<Node**>(malloc(8000 * sizeof(Node*)));
  for (int i = 0; i < 8000; ++i) nodes[i] = static_cast<Node*>(calloc(1, sizeof(Node)));
  return ManyOuter(nodes) + 1;
}

// Each with an argument of its own that changes.
NOINLINE int Deep(int depth, Node* node) {
  volatile int returned = 0;  // so that it is a call
  Node* next = static_cast<Node*>(calloc(1, sizeof(Node)));
  node->value = depth;
  node->next = next;
  returned = depth == 0 ? Crash(4) : Deep(depth - 1, next);
  return returned + 1;
}
NOINLINE int DeepStart() { return Deep(10000, MakeNodes(false)) + 1; }

NOINLINE long Visit(Node* node) { return ++node->value; }
NOINLINE int Returned() {
  Node* first = MakeNodes(true);
  for (int i = 0; i < 3000; ++i) Visit(first);
  return ReachedOuter(first) + 1;
}

QUIET int (*FindReached(const char* name))() {
  const struct {
    const char* name;
    int (*run)();
  } all[] = {{"chain", Chain}, {"cycle", Cycle},    {"inside", Inside},     {"block", Block},
             {"wild", Wild},   {"deep", DeepStart}, {"returned", Returned}, {"many", Many}};
  for (const auto& one : all)
    if (strcmp(one.name, name) == 0) return one.run;
  return nullptr;
}

#endif  // RECRASH_AGENT_CLIENT_RECORD_TESTDATA_REACHED_H_
