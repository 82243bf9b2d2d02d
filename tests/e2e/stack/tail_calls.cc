// A million tail calls in a row, through a pointer and a vtable in turn: any frame that stayed would overflow the
// stack.
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

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Start(Hidden(1000), Hidden("starting")));
  return situation::End();
}
