/* For programs that notice a failure themselves. RECRASH_REPORT writes a report as a crash would; the program goes on.
 *
 *   if (total != sum_of_parts) RECRASH_REPORT("totals disagree");
 *
 * These say which functions are monitored. They stand before the first declaration, and win over a list, which wins
 * over the defaults:
 *
 *   RECRASH_NEVER int Innermost(int* p);    not monitored
 *   RECRASH_ALWAYS int Sum(int a, int b);   monitored although it would be left out
 *   RECRASH_DEPTH(0) void Push(Node* n);    how far the copies of mode full go: 0, 1 or 2
 *
 * For C and C++. Without recrash's client in the program, RECRASH_REPORT tests a weak address and needs nothing to
 * link. Compilers that do not know the attributes ignore them. */
#ifndef RECRASH_RECRASH_H_
#define RECRASH_RECRASH_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the registers of its caller, so the report shows the function that calls it. Returns at once in a replay. */
__attribute__((weak)) void __recrash_report(const char* why);

/* In a build with patchable entries (-recrash-mode=second-chance, references+second-chance or adaptive): watches, from
 * now on, the functions that FOLDER/PROGRAM.recrash-profile names, and lets a crash update that file. An updater may
 * have brought the profile, say. Null: nothing is watched any more. */
__attribute__((weak)) void __recrash_profiles(const char* folder);

/* Reports leave out memory that the program excludes from core dumps (MADV_DONTDUMP), and all memory of a program that
 * is not dumpable (PR_SET_DUMPABLE). 1: keeps the memory of this program although it is not dumpable. 0: takes that
 * back. */
__attribute__((weak)) void __recrash_keep_memory(int keep);

#ifdef __cplusplus
}
#endif

/* The empty asm keeps the call from being a tail call, which would take the function that noticed off the stack. */
#define RECRASH_REPORT(why)                        \
  do {                                             \
    if (__recrash_report) __recrash_report((why)); \
    __asm__ volatile("");                          \
  } while (0)

#define RECRASH_PROFILES(folder)                        \
  do {                                                  \
    if (__recrash_profiles) __recrash_profiles(folder); \
  } while (0)

#define RECRASH_KEEP_MEMORY(keep)                           \
  do {                                                      \
    if (__recrash_keep_memory) __recrash_keep_memory(keep); \
  } while (0)

#ifdef __has_attribute
#if __has_attribute(annotate)
#define RECRASH_NEVER __attribute__((annotate("recrash::never")))
#define RECRASH_ALWAYS __attribute__((annotate("recrash::always")))
#define RECRASH_DEPTH(n) __attribute__((annotate("recrash::depth=" #n)))
#endif
#endif
#ifndef RECRASH_NEVER
#define RECRASH_NEVER
#define RECRASH_ALWAYS
#define RECRASH_DEPTH(n)
#endif

#endif /* RECRASH_RECRASH_H_ */
