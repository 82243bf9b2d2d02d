/* Loads plug-ins, in a program that knows nothing of recrash. Its arguments are done one after the other:
 *
 *   handler         a handler of SIGSEGV, which ends the program with status 42
 *   load:FILE:NAME  dlopen, and the function of that name; load-in-thread the same by another thread
 *   do:WHAT         calls it
 *   close           dlclose
 *   segv            fails in a function of its own; from a plug-in (do:back) too */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int (*g_entry)(const char* what, void (*call_back)(void));
static void* g_plugin;
static volatile long g_zero;

static void OnSignal(int number) {
  (void)number;
  _exit(42);
}

__attribute__((noinline)) static void ReadNull(void) { g_zero = *(volatile int*)g_zero; }

static void* Load(void* argument) {
  char* name = strchr(argument, ':');
  *name++ = 0;
  g_plugin = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
  if (g_plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  *(void**)&g_entry = dlsym(g_plugin, name);
  return NULL;
}

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    char* word = arguments[i];
    if (strcmp(word, "handler") == 0) signal(SIGSEGV, OnSignal);
    if (strncmp(word, "load:", 5) == 0) Load(word + 5);
    if (strncmp(word, "load-in-thread:", 15) == 0) {
      pthread_t thread;
      pthread_create(&thread, NULL, Load, word + 15);
      pthread_join(thread, NULL);
    }
    if (strncmp(word, "do:", 3) == 0) g_entry(word + 3, ReadNull);
    if (strcmp(word, "close") == 0 && dlclose(g_plugin) != 0) return 4;
    if (strcmp(word, "segv") == 0) ReadNull();
  }
  return 7;
}
