/* What a program is told of a failure before a report of it is made: RECRASH_BEFORE_REPORT of recrash.h. */
#ifndef RECRASH_FAILURE_H_
#define RECRASH_FAILURE_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Texts are never null. */
struct recrash_failure {
  size_t size; /* of this struct; in later versions it is larger */
  int signal;  /* that the program dies of; 0: it goes on */
  int code;    /* si_code, si_addr: 0 where the program goes on */
  const void* address;
  const void* pc;        /* where the thread failed */
  int thread;            /* its number in the kernel: it is the one that runs the function */
  const char* exception; /* type of the exception that nobody caught, mangled; or empty */
  const char* what;      /* its what(), or empty */
  const char* reason;    /* what RECRASH_REPORT was given, or empty */
};

/* Returns whether the report may be made. */
typedef int (*recrash_before_report)(const struct recrash_failure* failure, void* data);

#ifdef __cplusplus
}
#endif

#endif /* RECRASH_FAILURE_H_ */
