// Takes the place of the subject's main: the program's libraries, thread-local storage, copy relocations and static
// initialisers are its own, then a replay runs instead. Where the program failed in these initialisers, they are left
// out: what they had done is in the report's memory.
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/printable.h"
#include "testgen/replay/checks/checkers.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/interpose.h"
#include "testgen/replay/guest/keeper.h"
#include "testgen/replay/guest/memory.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/restore.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/runtime.h"
#include "testgen/replay/guest/sandbox.h"
#include "testgen/replay/guest/world.h"
#include "testgen/replay/sandbox/namespaces.h"

namespace recrash::replay {

World world;

namespace {

constexpr uint32_t kMostAttempts = 50;
constexpr uint64_t kPointerGuardOffset = 0x30;

void MapPlan() {
  struct stat status;
  if (fstat(world.plan_fd, &status) != 0) Problem("the plan is gone: %s", strerror(errno));
  void* bytes =
      mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE, world.plan_fd, 0);
  if (bytes == MAP_FAILED) Problem("cannot map the plan: %s", strerror(errno));
  const auto* header = static_cast<const plan::Header*>(bytes);
  if (header->magic != plan::kMagic || header->version != plan::kVersion) {
    fprintf(stderr, "recrash: error: launcher and replay library do not belong together\n  install recrash anew\n");
    _exit(plan::kProblemStatus);
  }
  world.bytes = static_cast<char*>(bytes);
  world.plan = header;
}

// Other addresses come with another start. The launcher does it; a process under a debugger does it itself.
[[noreturn]] void StartAnew(char** argv) {
  const uint32_t attempt = world.plan->attempt + 1;
  if (attempt > kMostAttempts) {
    Problem(
        "recorded addresses are occupied at each of %u starts; is address space randomisation off "
        "(/proc/sys/kernel/randomize_va_space)?",
        attempt);
  }
  if (!Has(plan::kInProcess)) _exit(plan::kCollisionStatus);
  if (pwrite(world.plan_fd, &attempt, sizeof attempt, offsetof(plan::Header, attempt)) != sizeof attempt) {
    Problem("cannot write the plan: %s", strerror(errno));
  }
  Dl_info self;
  char number[16];
  dladdr(Pointer<void>(Number(&world)), &self);
  snprintf(number, sizeof number, "%d", world.plan_fd);
  setenv("LD_PRELOAD", self.dli_fname, 1);
  setenv("LD_BIND_NOW", "1", 1);
  setenv(plan::kPlanVariable, number, 1);
  execve("/proc/self/exe", argv, environ);
  Problem("cannot start anew: %s", strerror(errno));
}

// Each line by itself: the line ends are ours.
void PrintProblem(const char* text) {
  const char* before = "recrash: error: ";
  while (*text) {
    const size_t length = strcspn(text, "\n");
    char shown[4000];
    CopyPrintable(shown, sizeof shown, text, length);
    fprintf(stderr, "%s%s\n", before, shown);
    text += length + (text[length] != 0);
    before = strncmp(text, "  ", 2) == 0 ? "" : "  ";
  }
}

void NoInitialisers() {}

int ReplayMain(int argc, char** argv, char**) {
  PrepareInputs();
  if (Has(plan::kSandbox) && !Has(plan::kInProcess)) world.run.namespaces = MakeNamespaces();
  LoadMissingModules();
  if (world.plan->traced) Raw(SYS_getpriority, plan::kMarkerWhich, 0);
  FindModules();
  uint64_t guard = 0;
  if (ReadRecorded(world.plan->fs_base + kPointerGuardOffset, &guard, sizeof guard)) SetPointerGuard(guard);
  if (PlaceMemory() == Placement::kCollision) StartAnew(argv);
  PlaceGhosts();
  FindRuntime();
  FindCheckers(&world.checkers, FindInRuntime);
  for (const LiveModule& module : AllModules()) AddCheckersLibrary(&world.checkers, module.path);
  PrepareBlocks();
  FindStreamFunctions();
  FindInterposed();
  PrepareRestore();
  PrepareFrames();
  MeasureAddressSpace();
  if (!Has(plan::kInProcess)) close(world.plan_fd);  // in place, each call maps the recorded contents again
  if (Has(plan::kVerify)) {
    WorkOffQueue();
    RemoveFolder();
    RemoveKeptFolder();
    _exit(0);
  }
  const int status = RunTestLibrary(argc, argv);
  fflush(nullptr);
  RemoveFolder();
  RemoveKeptFolder();
  _exit(status);
}

}  // namespace

void Problem(const char* format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (world.plan && Has(plan::kVerify)) {
    void* shared = mmap(nullptr, sizeof(plan::Queue), PROT_READ | PROT_WRITE, MAP_SHARED, world.plan->queue_fd, 0);
    if (shared != MAP_FAILED) CopyText(static_cast<plan::Queue*>(shared)->problem, sizeof text, text);
  } else {
    PrintProblem(text);
  }
  _exit(plan::kProblemStatus);
}

}  // namespace recrash::replay

// The agent in the program calls this when RECRASH_REPORT is reached.
extern "C" __attribute__((visibility("default"))) void __recrash_replay_reported(const char* reason) {
  if (recrash::replay::world.restored) recrash::replay::NoteReported(reason);
}

using MainFunction = int (*)(int, char**, char**);

extern "C" __attribute__((visibility("default"))) int __libc_start_main(MainFunction main, int argc, char** argv,
                                                                        void (*init)(), void (*fini)(),
                                                                        void (*loader_fini)(), void* stack_end) {
  using namespace recrash::replay;
  using Start = int (*)(MainFunction, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto real = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  const char* plan_number = getenv(recrash::plan::kPlanVariable);
  if (!plan_number) return real(main, argc, argv, init, fini, loader_fini, stack_end);
  world.plan_fd = atoi(plan_number);
  // For the subject alone: what it starts must not be taken over.
  unsetenv("LD_PRELOAD");
  unsetenv("LD_BIND_NOW");
  unsetenv(recrash::plan::kPlanVariable);
  MapPlan();
  // glibc calls an `init` that it is given in place of the initialisers that the program's dynamic section lists.
  return real(ReplayMain, argc, argv, Has(recrash::plan::kBeforeMain) ? NoInitialisers : init, fini, loader_fini,
              stack_end);
}
