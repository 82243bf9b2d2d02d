/* A C program that knows nothing of recrash: small, optimised, no C++ runtime in it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int Count(const char* text, char c) {
  int n = 0;
  for (; *text; ++text) n += *text == c;
  return n;
}

int main(int count, char** arguments) {
  const char* message = dlerror();
  if (message != NULL) fprintf(stderr, "before main: %s\n", message);
  const char* text = count > 1 ? arguments[1] : NULL;
  printf("%d\n", Count(text, 'a'));
  return 0;
}
