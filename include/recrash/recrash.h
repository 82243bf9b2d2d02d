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
 * RECRASH_SENSITIVE(key, sizeof key) and recrash::Sensitive<std::string> mark values that no report may hold. So does
 * RECRASH_MARKED, on a parameter or a local variable, as long as its function runs:
 *
 *   void Login(const char* user, RECRASH_MARKED std::string password);
 *
 * What is marked: of char* the text up to its NUL, at most 4096 bytes; of std::string its text; of a pointer or
 * reference to anything else what it leads to; of the rest the bytes. All of it as it is when a report is made. Put it
 * on the definition. It needs recrash's compiler and -g. Members are marked by their type, recrash::Sensitive<T>.
 *
 * These go into reports besides, or say whether there is one:
 *
 *   RECRASH_NOTE("document", name);             shown by `recrash show`
 *   RECRASH_ATTACH("settings.ini");             its contents as they are when a report is made
 *   RECRASH_LOG("server.log");                  its last 64 KiB; of standard error a report has them if that is a file
 *   RECRASH_BEFORE_REPORT(MayReport, data, 60); asks int MayReport(const recrash_failure*, void* data), within 60 s
 *
 * For C and C++. Without recrash's client in the program, RECRASH_REPORT tests a weak address and needs nothing to
 * link. Compilers that do not know the attributes ignore them. */
#ifndef RECRASH_RECRASH_H_
#define RECRASH_RECRASH_H_

#include <stddef.h>

#include "failure.h"

#ifdef __cplusplus
#include <type_traits>
#include <utility>
extern "C" {
#endif

/* Takes the registers of its caller, so the report shows the function that calls it. Returns at once in a replay. */
__attribute__((weak)) void __recrash_report(const char* why);

/* Says that the program makes progress. With RECRASH_OPTIONS=watchdog=SECONDS, a program that has said so once and then
 * not for so long is reported, with the stacks of all threads, and goes on. Without that option it returns at once. */
__attribute__((weak)) void __recrash_alive(void);

/* In a build with patchable entries (-recrash-mode=second-chance, references+second-chance or adaptive): watches, from
 * now on, the functions that FOLDER/PROGRAM.recrash-profile names, and lets a crash update that file. An updater may
 * have brought the profile, say. Null: nothing is watched any more. */
__attribute__((weak)) void __recrash_profiles(const char* folder);

/* Reports leave out memory that the program excludes from core dumps (MADV_DONTDUMP), and all memory of a program that
 * is not dumpable (PR_SET_DUMPABLE). 1: keeps the memory of this program although it is not dumpable. 0: takes that
 * back. */
__attribute__((weak)) void __recrash_keep_memory(int keep);

/* Marks `size` bytes at `value`: whatever they are when a report is made, each occurrence of 8 of them or more is
 * masked in report and minidump. They are marked until __recrash_unmark is called with the same address. */
__attribute__((weak)) void __recrash_mark(const void* value, size_t size);
__attribute__((weak)) void __recrash_unmark(const void* value);

/* A note that reports have: the last value of each key. Null: none any more. At most 64 notes; of a key 63 characters
 * count, of a value 943. Any thread may call it, also in a signal handler. */
__attribute__((weak)) void __recrash_note(const char* key, const char* value);

/* 1: reports have this file, as it is then: up to 1 MiB of each, 4 MiB of all, 16 files. 2: it is a log, of which they
 * have the last 64 KiB; at most 4. 0: none of it any more. A relative path is of the folder of now. */
__attribute__((weak)) void __recrash_file(const char* path, int what);

/* Asks `function` before a report is made. If it returns 0 there is none: nothing is written, nothing is said, and the
 * program ends as without recrash, or goes on. Null: nobody is asked any more.
 *
 * The thread that failed runs it, on a stack of 256 KiB, in a program that is broken: the heap may be damaged and its
 * lock held. So it may do what a signal handler may; RECRASH_NOTE is among that. Other threads run on meanwhile. It is
 * given up where it fails itself, or takes longer than `seconds` (0: no limit): the report is made then, and says so.
 */
__attribute__((weak)) void __recrash_before_report(recrash_before_report function, void* data, unsigned seconds);

#ifdef __cplusplus
}
#endif

/* The empty asm keeps the call from being a tail call, which would take the function that noticed off the stack. */
#define RECRASH_REPORT(why)                        \
  do {                                             \
    if (__recrash_report) __recrash_report((why)); \
    __asm__ volatile("");                          \
  } while (0)

#define RECRASH_ALIVE()                     \
  do {                                      \
    if (__recrash_alive) __recrash_alive(); \
  } while (0)

#define RECRASH_PROFILES(folder)                        \
  do {                                                  \
    if (__recrash_profiles) __recrash_profiles(folder); \
  } while (0)

#define RECRASH_KEEP_MEMORY(keep)                           \
  do {                                                      \
    if (__recrash_keep_memory) __recrash_keep_memory(keep); \
  } while (0)

#define RECRASH_SENSITIVE(value, size)                   \
  do {                                                   \
    if (__recrash_mark) __recrash_mark((value), (size)); \
  } while (0)

#define RECRASH_NOT_SENSITIVE(value)                 \
  do {                                               \
    if (__recrash_unmark) __recrash_unmark((value)); \
  } while (0)

#define RECRASH_NOTE(key, value)                        \
  do {                                                  \
    if (__recrash_note) __recrash_note((key), (value)); \
  } while (0)

#define RECRASH_ATTACH(path)                     \
  do {                                           \
    if (__recrash_file) __recrash_file(path, 1); \
  } while (0)

#define RECRASH_LOG(path)                        \
  do {                                           \
    if (__recrash_file) __recrash_file(path, 2); \
  } while (0)

#define RECRASH_FORGET_FILE(path)                \
  do {                                           \
    if (__recrash_file) __recrash_file(path, 0); \
  } while (0)

#define RECRASH_BEFORE_REPORT(function, data, seconds)                                   \
  do {                                                                                   \
    if (__recrash_before_report) __recrash_before_report((function), (data), (seconds)); \
  } while (0)

#ifdef __has_attribute
#if __has_attribute(annotate)
#define RECRASH_NEVER __attribute__((annotate("recrash::never")))
#define RECRASH_ALWAYS __attribute__((annotate("recrash::always")))
#define RECRASH_DEPTH(n) __attribute__((annotate("recrash::depth=" #n)))
#define RECRASH_MARKED __attribute__((annotate("recrash::marked")))
#endif
#endif
#ifndef RECRASH_NEVER
#define RECRASH_NEVER
#define RECRASH_ALWAYS
#define RECRASH_DEPTH(n)
#define RECRASH_MARKED
#endif

#ifdef __cplusplus
namespace recrash {

// A value that is marked as long as it lives: a key, a password, an account number. T is a plain value, or owns its
// bytes in one piece, as std::string, std::vector and std::array do.
//
//   recrash::Sensitive<std::string> password(Ask());
//   Connect(user, password.get());
//   password.Change([&](std::string& text) { text += pepper; });
//
// It masks what is equal to the value when a report is made. It does not know what was computed of the value: encoded,
// hashed, in another order of bytes. Its memory is overwritten when it dies.
template <typename T>
class Sensitive {
 public:
  Sensitive() : value_() { Mark(); }
  explicit Sensitive(T value) : value_(std::move(value)) { Mark(); }
  Sensitive(const Sensitive& other) : value_(other.value_) { Mark(); }
  Sensitive& operator=(const Sensitive& other) {
    if (this != &other) Change([&](T& value) { value = other.value_; });
    return *this;
  }
  ~Sensitive() {
    Forget(value_, 0);
    Unmark();
  }

  const T& get() const { return value_; }
  // The value as it was stays marked meanwhile: `change` may fail, or throw.
  template <typename Changing>
  void Change(Changing&& change) {
    const MarkAgain at_end{*this};
    std::forward<Changing>(change)(value_);
  }

 private:
  struct MarkAgain {
    Sensitive& value;
    ~MarkAgain() {
      value.Unmark();
      value.Mark();
    }
  };
  struct Bytes {
    const void* first;
    size_t size;
  };
  template <typename Owner>
  static auto BytesOf(const Owner& owner, int) -> decltype(owner.data(), owner.size(), Bytes()) {
    return {owner.data(), owner.size() * sizeof *owner.data()};
  }
  template <typename Plain>
  static Bytes BytesOf(const Plain& plain, long) {
    static_assert(std::is_trivially_copyable<Plain>::value, "mark its bytes by RECRASH_SENSITIVE");
    return {&plain, sizeof plain};
  }

  static void Overwrite(void* bytes, size_t size) {
    for (volatile char* at = static_cast<volatile char*>(bytes); size != 0; --size) *at++ = 0;
  }
  // Not what it only looks at, through a pointer to constant bytes.
  template <typename Owner>
  static auto Forget(Owner& owner, int) -> decltype(owner.data(), owner.size(), void()) {
    OverwriteIfOwn(owner.data(), owner.size());
  }
  template <typename Plain>
  static void Forget(Plain& plain, long) {
    Overwrite(&plain, sizeof plain);
  }
  template <typename Element>
  static void OverwriteIfOwn(Element* first, size_t count) {
    Overwrite(first, count * sizeof *first);
  }
  template <typename Element>
  static void OverwriteIfOwn(const Element*, size_t) {}

  void Mark() {
    const Bytes bytes = BytesOf(value_, 0);
    marked_ = bytes.first;
    if (bytes.size != 0) RECRASH_SENSITIVE(marked_, bytes.size);
  }
  void Unmark() { RECRASH_NOT_SENSITIVE(marked_); }

  T value_;
  const void* marked_ = nullptr;
};

}  // namespace recrash
#endif

#endif /* RECRASH_RECRASH_H_ */
