// Runs a program and says what it used: launch FILE PROGRAM ARG…
//
// The peak of a process's memory counts what it was before its exec, so a Python that starts it would be in every figure;
// this one is small. The processor time of what the program waited for is in its own.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double Seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: launch FILE PROGRAM ARG…\n");
    return 125;
  }
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    fprintf(stderr, "launch: %s: %s\n", argv[2], strerror(errno));
    _exit(125);
  }
  int status = 0;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return 125;
  FILE* file = fopen(argv[1], "w");
  if (!file) return 125;
  fprintf(file, "{\"user\": %.6f, \"system\": %.6f, \"peak_kib\": %ld}\n", Seconds(usage.ru_utime),
          Seconds(usage.ru_stime), usage.ru_maxrss);
  fclose(file);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
