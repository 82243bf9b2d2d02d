// Functions of the C library that the subject calls by way of this library, which is preloaded. interpose.cc defines
// them: locks of dead threads are stolen, paths of inputs lead to the inputs' contents, failure signals keep our
// handlers.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_INTERPOSE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_INTERPOSE_H_

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <time.h>

namespace recrash::replay {

// The C library's functions behind our own; null until the first is needed.
struct RealFunctions {
  int (*sigaction)(int, const struct sigaction*, struct sigaction*);
  sighandler_t (*signal)(int, sighandler_t);
  int (*mutex_lock)(pthread_mutex_t*);
  int (*mutex_trylock)(pthread_mutex_t*);
  int (*mutex_timedlock)(pthread_mutex_t*, const timespec*);
  int (*rwlock_rdlock)(pthread_rwlock_t*);
  int (*rwlock_wrlock)(pthread_rwlock_t*);
  void (*exit)(int);
  void (*assertion_failed)(const char*, int, const char*, const char*);
  int (*openat)(int, const char*, int, ...);
  FILE* (*fopen)(const char*, const char*);
  FILE* (*freopen)(const char*, const char*, FILE*);
  FILE* (*fdopen)(int, const char*);
  int (*faccessat)(int, const char*, int, int);
  char* (*realpath)(const char*, char*);
  DIR* (*opendir)(const char*);
  void* (*dlopen)(const char*, int);
  int (*system)(const char*);
  FILE* (*popen)(const char*, const char*);
  int (*execve)(const char*, char* const*, char* const*);
  int (*execv)(const char*, char* const*);
  int (*execvp)(const char*, char* const*);
  using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                    char* const*);
  Spawn* posix_spawn;
  Spawn* posix_spawnp;
};

// Finds all functions of RealFunctions. REQUIRES: recorded memory is not back yet.
void FindInterposed();

// Calls the C library's sigaction; ours leaves failure signals alone.
void InstallRealAction(int signal, const struct sigaction* action);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_INTERPOSE_H_
