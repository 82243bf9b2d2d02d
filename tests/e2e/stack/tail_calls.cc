// A million tail calls in a row, through a pointer and a vtable in turn: any frame that stayed would overflow the
// stack. And double dispatch: the caller's call is of a function that is gone, which had the arguments the other way
// round.
#include <new>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

constexpr int kSteps = 1000000;

struct Machine;
using Jump = int (*)(Machine* machine, int number, const char* name);

struct Machine {
  virtual ~Machine() = default;
  virtual int Step(int number, const char* name) = 0;
  Jump jump = nullptr;
};

[[gnu::noinline]] int Arrive(int number, const char* name) {
  Use(name);
  FailIf("arrived");
  return Add(Work(Hidden(number + 7000), Hidden("after a million tail calls")));
}

struct Ring final : Machine {
  int Step(int number, const char* name) override;
};

[[gnu::noinline]] int Ring::Step(int number, const char* name) {
  Use(name);
  return number == 0 ? Arrive(Hidden(number + 42), Hidden("arriving")) : jump(this, number - 1, name);
}

[[gnu::noinline]] int JumpBack(Machine* machine, int number, const char* name) {
  Use(name);
  return machine->Step(number, Hidden(name));
}

[[gnu::noinline]] int Start(int number, const char* name) {
  Use(number, name);
  Ring ring;
  ring.jump = Hidden<Jump>(JumpBack);
  return Add(Hidden<Machine*>(&ring)->Step(Hidden(kSteps), Hidden("stepping")));
}

struct Visitor;

struct Node {
  virtual ~Node() = default;
  virtual int Accept(Visitor& visitor) = 0;
  int number = 0;
};

struct Visitor {
  virtual ~Visitor() = default;
  virtual int Visit(Node* node) = 0;
  int seen = 0;
};

struct Leaf final : Node {
  int Accept(Visitor& visitor) override;
};

[[gnu::noinline]] int Leaf::Accept(Visitor& visitor) { return visitor.Visit(this); }

[[gnu::noinline]] int Look(Node* node, const char* name) {
  Use(name);
  FailIf("visited");
  return Add(Work(Hidden(node->number), Hidden("after double dispatch")));
}

struct Counter final : Visitor {
  int Visit(Node* node) override;
};

// The node is in no register by the time that `Look` fails; the visitor is wanted behind it.
[[gnu::noinline]] int Counter::Visit(Node* node) {
  seen += Look(node, Hidden("looking"));
  return seen;
}

struct Reader final : Visitor {
  int Visit(Node* node) override;
};

// Fails itself, where its visitor is gone.
[[gnu::noinline]] int Reader::Visit(Node* node) {
  Use(this);
  asm volatile("" : : : "rdi");
  return node->number + *Hidden<int*>(situation::g_place) + Add(Look(node, Hidden("read")));
}

[[gnu::noinline]] Node* Plant(void* place, int number) {
  Node* node = new (place) Leaf;
  node->number = number;
  return node;
}

// Its call sites know where node and visitor are, but not what they call.
[[gnu::noinline]] int Walk(int number, const char* name) {
  Use(name);
  alignas(Leaf) char place[sizeof(Leaf)];
  Plant(place, number);
  Node* const node = std::launder(reinterpret_cast<Node*>(place));
  Counter counter;
  Reader reader;
  const int visited = node->Accept(counter);
  FailIf("read");
  return Add(visited + node->Accept(reader) + counter.seen + reader.seen);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Walk(Hidden(8000), Hidden("walking")));
  Add(Start(Hidden(1000), Hidden("starting")));
  return situation::End();
}
