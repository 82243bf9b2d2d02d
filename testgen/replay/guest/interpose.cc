// Locks that the dead process held are stolen (nobody is left to release them), and handlers for the signals that end
// a replay stay ours.
#include "testgen/replay/guest/interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/checks/checkers.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/late_modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

#define RECRASH_EXPORT extern "C" __attribute__((visibility("default")))
// On x86-64 a function with 64 in its name takes and gives the same as the one without.
#define RECRASH_ALIAS(function) extern "C" __attribute__((visibility("default"), alias(#function)))

namespace recrash::replay {
namespace {

template <typename T>
void Find(T** function, const char* name) {
  *function = reinterpret_cast<T*>(dlsym(RTLD_NEXT, name));
}

constexpr char kAssertionFailed[] = "_ZSt21__glibcxx_assert_failPKciS0_S0_";

// Initialisers of the subject's libraries come here before ReplayMain.
const RealFunctions& Real() {
  if (!world.real.sigaction) FindInterposed();
  return world.real;
}

// Threads that the replay itself starts are alive; all others died with the recorded process.
bool IsAlive(int32_t thread) { return Raw(SYS_tgkill, Raw(SYS_getpid), thread, 0) == 0; }

void Steal(pthread_mutex_t* mutex) {
  if (!world.restored || LeftOut("mutexes")) return;
  if (mutex->__data.__lock == 0 || mutex->__data.__owner == 0 || IsAlive(mutex->__data.__owner)) return;
  mutex->__data.__lock = 0;
  mutex->__data.__owner = 0;
  mutex->__data.__count = 0;
  mutex->__data.__nusers = 0;
}

// glibc's rwlock: bit 0 of __readers is the phase, bit 1 says that a writer holds it, the rest counts readers. A reader
// leaves no name, so readers of the dead process cannot be told from live ones; a replay has one thread, mostly.
void Steal(pthread_rwlock_t* lock) {
  if (!world.restored || LeftOut("mutexes")) return;
  if (lock->__data.__readers == 0) return;
  const int32_t writer = lock->__data.__cur_writer;
  const bool write_locked = writer != 0;
  if (write_locked && IsAlive(writer)) return;
  if (!write_locked && Raw(SYS_gettid) != Raw(SYS_getpid)) return;
  lock->__data.__readers = 0;
  lock->__data.__writers = 0;
  lock->__data.__wrphase_futex = 0;
  lock->__data.__writers_futex = 0;
  lock->__data.__cur_writer = 0;
}

}  // namespace

// ---- Paths: ------------------------------------------------------------
//
// Functions of the C library that take a path: one of an input of the report leads to the input's content, and opening
// for writing leads to /dev/null, or, where an input is opened for reading as well, to a copy of its own.
//
// The C library or the kernel does the work, on another path; calls from inside of the C library (fopen's own open) do
// not come through here, so fopen and its like are here themselves.

namespace {

constexpr char kNull[] = "/dev/null";
constexpr int kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
constexpr int kMakes = O_CREAT | O_EXCL | O_TRUNC | O_TMPFILE;  // O_DIRECTORY among them

// As a system call's result comes out of the C library.
int Result(long result) {
  if (result >= 0) return static_cast<int>(result);
  errno = static_cast<int>(-result);
  return -1;
}

// A file of the system's own that is not there says nothing of the replay.
bool IsOfTheSystem(const char* path) {
  constexpr const char* kFolders[] = {"/usr/", "/etc/", "/lib", "/proc/", "/sys/", "/dev/"};
  for (const char* folder : kFolders) {
    if (strncmp(path, folder, strlen(folder)) == 0) return true;
  }
  return false;
}

// Returns `result`, of a look at `path`. That nothing was found there may be why the program exits.
int Looked(int result, const char* path) {
  if (result < 0 && errno == ENOENT && world.restored && path && !IsOfTheSystem(path)) NoteNotFound(path);
  return result;
}

int Open(int folder, const char* path, int flags, mode_t mode) {
  const bool only_writes = (flags & O_ACCMODE) == O_WRONLY;
  const Place place = FindPlace(folder, path, only_writes);
  if (place.where == Where::kHeld && !only_writes) return Result(OpenHeld(place.input, flags));
  if (world.restored && (flags & kWrites)) return Real().openat(AT_FDCWD, kNull, flags & ~kMakes);
  return Looked(Real().openat(folder, PathOf(place, path), flags, mode), path);
}

// Of fopen: what open would be given.
int FlagsOf(const char* mode) {
  bool updates = false;
  for (const char* at = mode; *at && *at != ','; ++at) updates = updates || *at == '+';
  const int access = updates ? O_RDWR : *mode == 'r' ? O_RDONLY : O_WRONLY;
  return access | (*mode == 'w' ? O_TRUNC : 0) | (*mode == 'a' ? O_APPEND : 0);
}

FILE* OpenFile(const char* path, const char* mode) {
  if (!world.restored) return Real().fopen(path, mode);
  const int flags = FlagsOf(mode);
  const Place place = FindPlace(AT_FDCWD, path, (flags & O_ACCMODE) == O_WRONLY);
  if (place.where == Where::kHeld && (flags & O_ACCMODE) == O_RDWR) {
    const int copy = Result(OpenHeld(place.input, flags));
    return copy < 0 ? nullptr : Real().fdopen(copy, mode);
  }
  FILE* file = Real().fopen(flags & kWrites ? kNull : PathOf(place, path), mode);
  Looked(file ? 0 : -1, path);
  return file;
}

FILE* ReopenFile(const char* path, const char* mode, FILE* stream) {
  if (!world.restored || !path) return Real().freopen(path, mode, stream);
  const Place place = FindPlace(AT_FDCWD, path);
  return Real().freopen(FlagsOf(mode) & kWrites ? kNull : PathOf(place, path), mode, stream);
}

// A content's path is a link itself.
int FlagsFor(const Place& place, int flags) {
  return place.where == Where::kHeld ? flags & ~AT_SYMLINK_NOFOLLOW : flags;
}

int Stat(int folder, const char* path, struct stat* status, int flags) {
  const Place place = FindPlace(folder, path);
  return Looked(Result(Raw(SYS_newfstatat, folder, PathOf(place, path), status, FlagsFor(place, flags))), path);
}

int Access(int folder, const char* path, int mode, int flags) {
  const Place place = FindPlace(folder, path);
  return Looked(Real().faccessat(folder, PathOf(place, path), mode, FlagsFor(place, flags)), path);
}

char* RealPath(const char* path, char* out) {
  const Place place = FindPlace(AT_FDCWD, path);
  if (place.where != Where::kHeld) return Real().realpath(PathOf(place, path), out);
  if (!out) return strdup(RecordedPath(place.input));
  CopyText(out, PATH_MAX, RecordedPath(place.input));
  return out;
}

// What another process finds, or who lists the folder, is not seen: it may be something that is not there sealed.
void NoteUnseen() {
  if (world.restored && IsSealed()) NoteMissed();
}

}  // namespace

void FindInterposed() {
  Find(&world.real.signal, "signal");
  Find(&world.real.mutex_lock, "pthread_mutex_lock");
  Find(&world.real.mutex_trylock, "pthread_mutex_trylock");
  Find(&world.real.mutex_timedlock, "pthread_mutex_timedlock");
  Find(&world.real.rwlock_rdlock, "pthread_rwlock_rdlock");
  Find(&world.real.rwlock_wrlock, "pthread_rwlock_wrlock");
  Find(&world.real.exit, "exit");
  Find(&world.real.assertion_failed, kAssertionFailed);
  Find(&world.real.openat, "openat");
  Find(&world.real.fopen, "fopen");
  Find(&world.real.freopen, "freopen");
  Find(&world.real.fdopen, "fdopen");
  Find(&world.real.faccessat, "faccessat");
  Find(&world.real.realpath, "realpath");
  Find(&world.real.opendir, "opendir");
  Find(&world.real.dlopen, "dlopen");
  Find(&world.real.system, "system");
  Find(&world.real.popen, "popen");
  Find(&world.real.execve, "execve");
  Find(&world.real.execv, "execv");
  Find(&world.real.execvp, "execvp");
  Find(&world.real.posix_spawn, "posix_spawn");
  Find(&world.real.posix_spawnp, "posix_spawnp");
  Find(&world.real.sigaction, "sigaction");  // last: Real looks at it
}

void InstallRealAction(int signal, const struct sigaction* action) { Real().sigaction(signal, action, nullptr); }

}  // namespace recrash::replay

using namespace recrash::replay;  // NOLINT: what follows has the C library's names

// Of a limit, or of somebody who sends it: a program that ignores it goes on, as it did.
static bool IsIgnored(int signal, sighandler_t handler) {
  return handler == SIG_IGN && (signal == SIGXCPU || signal == SIGXFSZ || signal == SIGQUIT || signal == SIGSTKFLT);
}

RECRASH_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  if (world.restored && IsFailureSignal(signal) && (!action || !IsIgnored(signal, action->sa_handler))) {
    if (old) *old = {};
    return 0;
  }
  return Real().sigaction(signal, action, old);
}

RECRASH_EXPORT sighandler_t signal(int number, sighandler_t handler) {
  if (world.restored && IsFailureSignal(number) && !IsIgnored(number, handler)) return SIG_DFL;
  return Real().signal(number, handler);
}

RECRASH_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Steal(mutex);
  return Real().mutex_lock(mutex);
}

RECRASH_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Steal(mutex);
  return Real().mutex_trylock(mutex);
}

RECRASH_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  Steal(mutex);
  return Real().mutex_timedlock(mutex, until);
}

RECRASH_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  Steal(lock);
  return Real().rwlock_rdlock(lock);
}

RECRASH_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  Steal(lock);
  return Real().rwlock_wrlock(lock);
}

// In a child an exit is seen by the parent. In place it must not end the debugged process.
RECRASH_EXPORT __attribute__((noreturn)) void exit(int status) {
  if (world.restored && Has(recrash::plan::kInProcess)) NoteExit(status);
  Real().exit(status);
  __builtin_unreachable();
}

RECRASH_EXPORT __attribute__((noreturn)) void _exit(int status) {
  if (world.restored && Has(recrash::plan::kInProcess)) NoteExit(status);
  ExitNow(status);
}

namespace {

void NoteAssertion(const char* condition) {
  char text[200];
  snprintf(text, sizeof text, "Assertion '%s' failed", condition ? condition : "");
  SetFinding(&world.run.observed->finding, kLibraryAssertion, text);
}

}  // namespace

// g++'s UBSan calls it. Where the runtime is in the program, it calls its own instead, and its report is read. The
// library's first report opens its file anew, so nothing else tells what it was.
RECRASH_EXPORT void __ubsan_on_report() {
  if (world.restored) ReadUndefined(world.checkers, &world.run.observed->finding);
}

// std::__glibcxx_assert_fail(file, line, function, condition) of libstdc++ 12 and later writes to stderr alone.
RECRASH_EXPORT __attribute__((noreturn)) void recrash_assertion_failed(
    const char*, int, const char*, const char*) __asm__("_ZSt21__glibcxx_assert_failPKciS0_S0_");
RECRASH_EXPORT __attribute__((noreturn)) void recrash_assertion_failed(const char* file, int line, const char* function,
                                                                       const char* condition) {
  if (world.restored) NoteAssertion(condition);
  if (Real().assertion_failed) Real().assertion_failed(file, line, function, condition);
  abort();
}

// ---- open --------------------------------------------------------------------------------------------------------

#define RECRASH_MODE_BEHIND(last)                                \
  va_list rest;                                                  \
  va_start(rest, last);                                          \
  const auto mode = static_cast<mode_t>(va_arg(rest, unsigned)); \
  va_end(rest)

RECRASH_EXPORT int open(const char* path, int flags, ...) {
  RECRASH_MODE_BEHIND(flags);
  return Open(AT_FDCWD, path, flags, mode);
}
RECRASH_EXPORT int openat(int folder, const char* path, int flags, ...) {
  RECRASH_MODE_BEHIND(flags);
  return Open(folder, path, flags, mode);
}
#undef RECRASH_MODE_BEHIND
RECRASH_ALIAS(open) int open64(const char*, int, ...);
RECRASH_ALIAS(openat) int openat64(int, const char*, int, ...);

// With -D_FORTIFY_SOURCE.
RECRASH_EXPORT int __open_2(const char* path, int flags) { return Open(AT_FDCWD, path, flags, 0); }
RECRASH_EXPORT int __openat_2(int folder, const char* path, int flags) { return Open(folder, path, flags, 0); }
RECRASH_ALIAS(__open_2) int __open64_2(const char*, int);
RECRASH_ALIAS(__openat_2) int __openat64_2(int, const char*, int);

RECRASH_EXPORT int creat(const char* path, mode_t mode) {
  return Open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
RECRASH_ALIAS(creat) int creat64(const char*, mode_t);

RECRASH_EXPORT FILE* fopen(const char* path, const char* mode) { return OpenFile(path, mode); }
RECRASH_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return ReopenFile(path, mode, stream);
}
RECRASH_ALIAS(fopen) FILE* fopen64(const char*, const char*);
RECRASH_ALIAS(freopen) FILE* freopen64(const char*, const char*, FILE*);

// ---- What is there? ------------------------------------------------------------------------------------------------

RECRASH_EXPORT int stat(const char* path, struct stat* status) { return Stat(AT_FDCWD, path, status, 0); }
RECRASH_EXPORT int lstat(const char* path, struct stat* status) {
  return Stat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
RECRASH_EXPORT int fstatat(int folder, const char* path, struct stat* status, int flags) {
  return Stat(folder, path, status, flags);
}
RECRASH_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) {
  const Place place = FindPlace(folder, path);
  return Result(Raw(SYS_statx, folder, PathOf(place, path), FlagsFor(place, flags), mask, status));
}

static_assert(sizeof(struct stat) == sizeof(struct stat64), "one implementation serves both");
RECRASH_ALIAS(stat) int stat64(const char*, struct stat64*);
RECRASH_ALIAS(lstat) int lstat64(const char*, struct stat64*);
RECRASH_ALIAS(fstatat) int fstatat64(int, const char*, struct stat64*, int);

// The ones with a version are of programs from before glibc 2.33.
RECRASH_EXPORT int __xstat(int, const char* path, struct stat* status) { return Stat(AT_FDCWD, path, status, 0); }
RECRASH_EXPORT int __lxstat(int, const char* path, struct stat* status) {
  return Stat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
RECRASH_EXPORT int __fxstatat(int, int folder, const char* path, struct stat* status, int flags) {
  return Stat(folder, path, status, flags);
}
RECRASH_ALIAS(__xstat) int __xstat64(int, const char*, struct stat64*);
RECRASH_ALIAS(__lxstat) int __lxstat64(int, const char*, struct stat64*);
RECRASH_ALIAS(__fxstatat) int __fxstatat64(int, int, const char*, struct stat64*, int);

RECRASH_EXPORT int access(const char* path, int mode) { return Access(AT_FDCWD, path, mode, 0); }
RECRASH_EXPORT int eaccess(const char* path, int mode) { return Access(AT_FDCWD, path, mode, AT_EACCESS); }
RECRASH_ALIAS(eaccess) int euidaccess(const char*, int);
RECRASH_EXPORT int faccessat(int folder, const char* path, int mode, int flags) {
  return Access(folder, path, mode, flags);
}

RECRASH_EXPORT char* realpath(const char* path, char* out) { return RealPath(path, out); }
RECRASH_EXPORT char* __realpath_chk(const char* path, char* out, size_t) { return RealPath(path, out); }
RECRASH_EXPORT char* canonicalize_file_name(const char* path) { return RealPath(path, nullptr); }

RECRASH_EXPORT ssize_t readlink(const char* path, char* out, size_t size) {
  const Place place = FindPlace(AT_FDCWD, path);
  if (place.where != Where::kHeld) return Result(Raw(SYS_readlink, PathOf(place, path), out, size));
  errno = EINVAL;  // no link
  return -1;
}

// ---- The folder ----------------------------------------------------------------------------------------------------

RECRASH_EXPORT int chdir(const char* path) {
  const char* folder = FolderFor(path);
  if (!folder) FindPlace(AT_FDCWD, path);
  const int result = Result(Raw(SYS_chdir, folder ? folder : path));
  if (result == 0) LeaveFolder(!folder);
  return result;
}
RECRASH_EXPORT int fchdir(int folder) {
  const int result = Result(Raw(SYS_fchdir, folder));
  if (result == 0) LeaveFolder(true);
  return result;
}
RECRASH_EXPORT DIR* opendir(const char* path) {
  const char* folder = FolderFor(path);
  FindPlace(AT_FDCWD, path);
  if (folder) NoteUnseen();
  return Real().opendir(folder ? folder : path);
}

// ---- What may look for files where nobody sees it ------------------------------------------------------------------

RECRASH_EXPORT void* dlopen(const char* path, int flags) {
  if (path && strchr(path, '/')) FindPlace(AT_FDCWD, path);
  if (path && world.restored && AnyLate()) {
    if (void* handle = Real().dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) InitialiseLate(handle);
  }
  // The loader looks up who calls: a return address of ours would change where it searches.
  [[clang::musttail]] return Real().dlopen(path, flags);
}
RECRASH_EXPORT int system(const char* command) {
  NoteUnseen();
  return Real().system(command);
}
RECRASH_EXPORT FILE* popen(const char* command, const char* mode) {
  NoteUnseen();
  return Real().popen(command, mode);
}
RECRASH_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) {
  NoteUnseen();
  return Real().execve(path, arguments, environment);
}
RECRASH_EXPORT int execv(const char* path, char* const* arguments) {
  NoteUnseen();
  return Real().execv(path, arguments);
}
RECRASH_EXPORT int execvp(const char* path, char* const* arguments) {
  NoteUnseen();
  return Real().execvp(path, arguments);
}
RECRASH_EXPORT int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  NoteUnseen();
  return Real().posix_spawn(process, path, actions, attributes, arguments, environment);
}
RECRASH_EXPORT int posix_spawnp(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  NoteUnseen();
  return Real().posix_spawnp(process, path, actions, attributes, arguments, environment);
}
