// fork and vfork: a failure in the child, in the parent afterwards, and in both one after the other.
#include <sys/wait.h>
#include <unistd.h>

#include "situation.h"

using situation::Add;
using situation::Fails;
using situation::Hidden;
using situation::Use;

[[gnu::noinline]] int Child(int number, const char* name) {
  Use(number, name);
  if (Fails("child") || Fails("both")) situation::g_place = nullptr;
  return Add(Work(Hidden(number + 1), Hidden("forked")));
}

[[gnu::noinline]] int VforkChild(int number, const char* name, bool fails) {
  Use(name);
  return Add(Work(Hidden(number + 1), Hidden(fails ? "vforked to fail" : "vforked")));
}

[[gnu::noinline]] int Await(int number, pid_t child) {
  Use(number);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) std::printf("child died of %d\n", WTERMSIG(status));
  return WEXITSTATUS(status);
}

[[gnu::noinline]] int Fork(int number, const char* name) {
  Use(number, name);
  const pid_t child = fork();
  if (child == 0) {
    Child(Hidden(2000), Hidden("child"));
    _exit(3);
  }
  return Add(Await(Hidden(number + 1), child));
}

[[gnu::noinline]] int Vfork(int number, const char* name) {
  Use(number, name);
  const pid_t child = vfork();
  if (child == 0) {
    const bool fails = Fails("vfork-child") || Fails("vfork-both");
    if (fails) situation::g_place = nullptr;
    VforkChild(Hidden(3000), Hidden("vfork child"), Hidden(fails));
    _exit(4);
  }
  situation::g_place = &situation::g_one;  // a child of vfork writes to its parent's memory
  return Add(Await(Hidden(number + 1), child));
}

[[gnu::noinline]] int Parent(int number, const char* name) {
  Use(number, name);
  if (Fails("parent") || Fails("both") || Fails("vfork-both")) situation::g_place = nullptr;
  return Add(Work(Hidden(number + 1), Hidden("after the child")));
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Fork(Hidden(1000), Hidden("forking")));
  Add(Vfork(Hidden(1500), Hidden("vforking")));
  Add(Parent(Hidden(4000), Hidden("parent")));
  return situation::End();
}
