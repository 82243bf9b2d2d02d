// What the program adds to its reports: notes, and names of files (recrash.h).
//
// The table has pages of its own, and its address is sealed. It is as free of locks as shadowstack/additions.h says, so
// a signal handler may add something too, and a crash amid a writing finds the note as it was before. In a replay there
// is no table: the program that runs again adds nothing.
#include "shadowstack/additions.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/client.h"
#include "shadowstack/raw_format.h"

namespace recrash::client {

using abi::Addition;
using abi::AdditionKind;
using abi::Additions;
using raw::RawNamedFile;
using signal_safe::Call;
using signal_safe::CopyText;

namespace {

uint64_t StateOf(const Additions& table, uint32_t slot) {
  return __atomic_load_n(&table.states[slot], __ATOMIC_ACQUIRE);
}

bool ReplaceState(Additions& table, uint32_t slot, uint64_t state, uint64_t by) {
  return __atomic_compare_exchange_n(&table.states[slot], &state, by, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool IsOf(const Addition& addition, AdditionKind kind, const char* name) {
  return addition.kind == kind && strncmp(addition.text, name, abi::kAdditionText) == 0;
}

// Frees the slots of this name that are older than `number`. Returns false if one is newer.
bool FreeOlder(Additions& table, AdditionKind kind, const char* name, uint64_t number) {
  bool newest = true;
  for (uint32_t slot = 0; slot < abi::kAdditionSlots; ++slot) {
    const uint64_t state = StateOf(table, slot);
    if (state <= abi::kUnfinishedSlot || state == number || !IsOf(table.slots[slot], kind, name)) continue;
    // A slot that another thread has freed and written anew meanwhile has another state.
    if (state > number)
      newest = false;
    else
      ReplaceState(table, slot, state, abi::kFreeSlot);
  }
  return newest;
}

// A place for the name: it is there already, or its kind has fewer than there may be.
bool HasPlaceFor(const Additions& table, AdditionKind kind, const char* name) {
  uint32_t others = 0;
  for (uint32_t slot = 0; slot < abi::kAdditionSlots; ++slot) {
    if (StateOf(table, slot) <= abi::kUnfinishedSlot || table.slots[slot].kind != kind) continue;
    if (IsOf(table.slots[slot], kind, name)) return true;
    ++others;
  }
  return others < abi::kMostOf[static_cast<uint32_t>(kind)];
}

bool ClaimSlot(Additions& table, uint32_t& slot) {
  for (slot = 0; slot < abi::kAdditionSlots; ++slot)
    if (ReplaceState(table, slot, abi::kFreeSlot, abi::kUnfinishedSlot)) return true;
  return false;
}

void Lose(Additions& table, AdditionKind kind) {
  __atomic_add_fetch(&table.lost[static_cast<uint32_t>(kind)], 1, __ATOMIC_RELAXED);
}

uint64_t NextNumber(Additions& table) {
  return __atomic_add_fetch(&table.last, 1, __ATOMIC_ACQ_REL) + abi::kUnfinishedSlot;
}

// `name` has room in the text.
void Add(Additions& table, AdditionKind kind, const char* name, const char* value, bool cut) {
  uint32_t slot = 0;
  if (!HasPlaceFor(table, kind, name) || !ClaimSlot(table, slot)) return Lose(table, kind);
  Addition& addition = table.slots[slot];
  const size_t key_size = strlen(name), room = abi::kAdditionText - key_size - 2;
  const size_t most = room < abi::kMostValue ? room : abi::kMostValue;
  const size_t value_size = strnlen(value, most);
  memcpy(addition.text, name, key_size + 1);
  memcpy(addition.text + key_size + 1, value, value_size);
  addition.text[key_size + 1 + value_size] = 0;
  addition.kind = kind;
  addition.cut = cut || value[value_size] != 0 ? 1 : 0;
  const uint64_t number = NextNumber(table);
  addition.number = number;
  __atomic_store_n(&table.states[slot], number, __ATOMIC_RELEASE);
  if (!FreeOlder(table, kind, name, number)) ReplaceState(table, slot, number, abi::kFreeSlot);
}

void Note(Additions& table, const char* key, const char* value) {
  char cut_key[abi::kMostKey + 1];
  CopyText(cut_key, key);
  if (value == nullptr)
    FreeOlder(table, AdditionKind::kNote, cut_key, NextNumber(table));
  else
    Add(table, AdditionKind::kNote, cut_key, value, key[strlen(cut_key)] != 0);
}

void NameFile(Additions& table, AdditionKind kind, const char* path) {
  char absolute[1024];
  const signal_safe::Text text = SetAbsolute(absolute, path);
  if (absolute[0] != '/' || text.size() > abi::kMostPath) return Lose(table, kind);
  Add(table, kind, absolute, "", false);
}

void ForgetFile(Additions& table, const char* path) {
  char absolute[1024];
  SetAbsolute(absolute, path);
  for (const AdditionKind kind : {AdditionKind::kAttachment, AdditionKind::kLog})
    FreeOlder(table, kind, absolute, NextNumber(table));
}

}  // namespace

void MapAdditions() {
  const long at =
      Call(SYS_mmap, nullptr, sizeof(Additions), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at < 0 || Fails("additions_table")) return;
  Call(SYS_madvise, at, sizeof(Additions), MADV_DONTDUMP);  // a mapping by itself, and not in core dumps either
  g_state.additions = reinterpret_cast<Additions*>(at);
  g_state.additions->address = static_cast<uint64_t>(at);
  g_state.additions->version = abi::kAdditionsVersion;
  g_state.additions->size = sizeof(Additions);
}

bool ReadAddition(uint32_t slot, Addition& addition) {
  const uint64_t state = StateOf(*g_state.additions, slot);
  if (state <= abi::kUnfinishedSlot) return false;
  memcpy(&addition, &g_state.additions->slots[slot], sizeof addition);
  return StateOf(*g_state.additions, slot) == state;
}

// A note that is written meanwhile may move from a slot that comes later to one that is done: the second pass finds it.
void PutAdditions(PutBlockFunction put, void* out) {
  constexpr char kNone[] = "what the program notes, and names of files: there was no memory for their table";
  if (g_state.additions == nullptr) return put(out, raw::BlockKind::kOtherLoss, kNone, sizeof kNone - 1);
  put(out, raw::BlockKind::kAdditions, g_state.additions, offsetof(Additions, states));
  static uint64_t written[abi::kAdditionSlots];
  memset(written, 0, sizeof written);
  static Addition addition;
  for (int pass = 0; pass < 2; ++pass) {
    for (uint32_t slot = 0; slot < abi::kAdditionSlots; ++slot) {
      if (!ReadAddition(slot, addition) || addition.number == written[slot]) continue;
      put(out, raw::BlockKind::kAddition, &addition, sizeof addition);
      written[slot] = addition.number;
    }
  }
}

namespace {

// ---- Files in a raw report: what the collector would keep of them, by plain system calls. Each is read into memory of
// its own before it is put, so that what is marked is masked wherever it lies in the file, and a file that is cut
// meanwhile does no harm.

struct Putting {
  PutBlockFunction put;
  void* out;
  uint64_t attached;  // bytes so far
};

RECRASH_SIGNAL_SAFE int OpenRegular(const char* name, struct stat& status) {
  if (stat(name, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  const int file = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) return file;
  if (file >= 0) close(file);
  return -1;
}

// Fills what lies behind the head: the path, and what was read. Returns false if the file is shorter by now.
RECRASH_SIGNAL_SAFE bool ReadInto(char* place, int file, const char* path, const RawNamedFile& head, uint64_t content) {
  memcpy(place, path, head.path_size);
  for (uint64_t done = 0; done < content;) {
    const ssize_t got =
        pread(file, place + head.path_size + done, content - done, static_cast<off_t>(head.size - content + done));
    if (got <= 0) return false;
    done += static_cast<uint64_t>(got);
  }
  return true;
}

// How much of a file of this size is kept.
RECRASH_SIGNAL_SAFE uint64_t KeptOf(const RawNamedFile& head, const Putting& to) {
  if (head.kind != raw::NamedFileKind::kAttached) return head.size < abi::kMostLogTail ? head.size : abi::kMostLogTail;
  return head.size <= abi::kMostAttached && head.size <= abi::kMostAllAttached - to.attached ? head.size : 0;
}

RECRASH_SIGNAL_SAFE void PutNamedFile(Putting& to, raw::NamedFileKind kind, const char* name, const char* path) {
  struct stat status = {};
  const int file = Fails("named_file") ? -1 : OpenRegular(name, status);
  RawNamedFile head = {kind, file < 0 ? 1u : 0u, static_cast<uint64_t>(status.st_size), strlen(path)};
  if (file < 0) head.size = 0;
  const uint64_t content = KeptOf(head, to), size = sizeof head + head.path_size + content;
  const long at = Call(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  constexpr char kNoMemory[] = "a log or an attached file: there was no memory to read it into";
  if (at < 0 || Fails("named_file_memory")) {
    to.put(to.out, raw::BlockKind::kOtherLoss, kNoMemory, sizeof kNoMemory - 1);
  } else {
    char* const block = reinterpret_cast<char*>(at);
    const bool whole = ReadInto(block + sizeof head, file, path, head, content);
    if (!whole) head.unreadable = 1;
    memcpy(block, &head, sizeof head);
    to.put(to.out, raw::BlockKind::kNamedFile, block, whole ? size : sizeof head + head.path_size);
    if (whole && kind == raw::NamedFileKind::kAttached) to.attached += content;
    Call(SYS_munmap, at, size);
  }
  if (file >= 0) close(file);
}

RECRASH_SIGNAL_SAFE void PutStandardError(Putting& to) {
  struct stat status;
  static char path[1024];
  const ssize_t length = readlink("/proc/self/fd/2", path, sizeof path - 1);
  if (length <= 0 || fstat(STDERR_FILENO, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  path[length] = 0;
  PutNamedFile(to, raw::NamedFileKind::kStandardError, "/proc/self/fd/2", path);
}

}  // namespace

void PutNamedFiles(PutBlockFunction put, void* out) {
  if (g_state.additions == nullptr) return;
  Putting to = {put, out, 0};
  if (g_state.options.logs != 0) PutStandardError(to);
  static Addition addition;
  for (uint32_t slot = 0; slot < abi::kAdditionSlots; ++slot) {
    if (!ReadAddition(slot, addition) || addition.kind == AdditionKind::kNote) continue;
    const bool is_log = addition.kind == AdditionKind::kLog;
    if (is_log && g_state.options.logs == 0) continue;
    PutNamedFile(to, is_log ? raw::NamedFileKind::kLog : raw::NamedFileKind::kAttached, addition.text, addition.text);
  }
}

}  // namespace recrash::client

extern "C" __attribute__((visibility("default"))) void __recrash_note(const char* key, const char* value) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->note(key, value);
  Additions* const table = g_state.additions;  // null in a replay
  if (table != nullptr && key != nullptr && key[0] != 0) Note(*table, key, value);
}

extern "C" __attribute__((visibility("default"))) void __recrash_file(const char* path, int what) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->file(path, what);
  Additions* const table = g_state.additions;
  if (table == nullptr || path == nullptr || path[0] == 0) return;
  if (what == 1 || what == 2)
    NameFile(*table, static_cast<recrash::abi::AdditionKind>(what), path);
  else
    ForgetFile(*table, path);
}
