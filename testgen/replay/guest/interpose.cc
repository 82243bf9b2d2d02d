// Locks that the dead process held are stolen (nobody is left to release them), and handlers for the signals that end
// a replay stay ours.
#include "testgen/replay/guest/interpose.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/handler.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

#define RECRASH_EXPORT extern "C" __attribute__((visibility("default")))

namespace recrash::replay {
namespace {

template <typename T>
void Find(T* function, const char* name) {
  if (!*function) *function = reinterpret_cast<T>(dlsym(RTLD_NEXT, name));
}

// Threads that the replay itself starts are alive; all others died with the recorded process.
bool IsAlive(int32_t thread) {
  return Raw(SYS_tgkill, static_cast<uint64_t>(Raw(SYS_getpid)), static_cast<uint64_t>(thread), 0) == 0;
}

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

void FindInterposed() {
  Find(&world.real.sigaction, "sigaction");
  Find(&world.real.signal, "signal");
  Find(&world.real.mutex_lock, "pthread_mutex_lock");
  Find(&world.real.mutex_trylock, "pthread_mutex_trylock");
  Find(&world.real.mutex_timedlock, "pthread_mutex_timedlock");
  Find(&world.real.rwlock_rdlock, "pthread_rwlock_rdlock");
  Find(&world.real.rwlock_wrlock, "pthread_rwlock_wrlock");
  Find(&world.real.exit, "exit");
  FindInterposedFiles();
}

void InstallRealAction(int signal, const struct sigaction* action) { world.real.sigaction(signal, action, nullptr); }

}  // namespace recrash::replay

using namespace recrash::replay;  // NOLINT: what follows has the C library's names

RECRASH_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  if (world.restored && IsFailureSignal(signal)) {
    if (old) *old = {};
    return 0;
  }
  Find(&world.real.sigaction, "sigaction");
  return world.real.sigaction(signal, action, old);
}

RECRASH_EXPORT sighandler_t signal(int number, sighandler_t handler) {
  if (world.restored && IsFailureSignal(number)) return SIG_DFL;
  Find(&world.real.signal, "signal");
  return world.real.signal(number, handler);
}

RECRASH_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) {
  Find(&world.real.mutex_lock, "pthread_mutex_lock");
  Steal(mutex);
  return world.real.mutex_lock(mutex);
}

RECRASH_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  Find(&world.real.mutex_trylock, "pthread_mutex_trylock");
  Steal(mutex);
  return world.real.mutex_trylock(mutex);
}

RECRASH_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  Find(&world.real.mutex_timedlock, "pthread_mutex_timedlock");
  Steal(mutex);
  return world.real.mutex_timedlock(mutex, until);
}

RECRASH_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  Find(&world.real.rwlock_rdlock, "pthread_rwlock_rdlock");
  Steal(lock);
  return world.real.rwlock_rdlock(lock);
}

RECRASH_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  Find(&world.real.rwlock_wrlock, "pthread_rwlock_wrlock");
  Steal(lock);
  return world.real.rwlock_wrlock(lock);
}

// In a child an exit is seen by the parent. In place it must not end the debugged process.
RECRASH_EXPORT __attribute__((noreturn)) void exit(int status) {
  if (world.restored && Has(recrash::plan::kInProcess)) NoteExit(status);
  Find(&world.real.exit, "exit");
  world.real.exit(status);
  __builtin_unreachable();
}

RECRASH_EXPORT __attribute__((noreturn)) void _exit(int status) {
  if (world.restored && Has(recrash::plan::kInProcess)) NoteExit(status);
  ExitNow(status);
}
