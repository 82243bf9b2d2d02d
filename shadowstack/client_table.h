// What a client offers to the others in its process. A program may have one, so may libraries that it loads
// (-recrash-plugin), and librecrash_preload.so is one. The first that starts does the work; the others hand on to it.
//
// Each has a note in its ELF file that leads to its table, so that they find each other whatever their files are
// called, and of whatever version they are. Fields are added at the end.
#ifndef RECRASH_SHADOWSTACK_CLIENT_TABLE_H_
#define RECRASH_SHADOWSTACK_CLIENT_TABLE_H_

#include <stddef.h>
#include <stdint.h>

struct recrash_failure;

namespace recrash::abi {

// An ELF note: owner, this type, and an int64: the table's address less that of the number itself.
constexpr char kClientNoteOwner[] = "recrash-client";
constexpr uint32_t kClientNote = 1;

struct ClientTable {
  uint32_t size;     // of what this client knows of the table
  uint32_t is_live;  // 1: it does the work
  // Reports what happens in this code, too. Nothing where it reports everything.
  void (*serve)(uint64_t begin, uint64_t end);
  void (*report)(const char* reason);
  void (*keep_memory)(int keep);
  void (*mark)(const void* value, size_t size);
  void (*unmark)(const void* value);
  void (*note)(const char* key, const char* value);
  void (*file)(const char* path, int what);
  void (*before_report)(int (*function)(const recrash_failure*, void*), void* data, unsigned seconds);
  void (*profiles)(const char* folder);
  void (*alive)();
};
static_assert(sizeof(ClientTable) == 88 && offsetof(ClientTable, serve) == 8);

}  // namespace recrash::abi

#endif  // RECRASH_SHADOWSTACK_CLIENT_TABLE_H_
