// Which module the client lies in, and whether another client does the work already.
//
// A client in a library (-recrash-plugin) lives in a program that is somebody else's. What fails there without the
// library is none of its business: no report is made, and nothing is said. So it looks whether the failing thread is in
// the library's code, or will return there.
#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/client/client.h"
#include "shadowstack/client_table.h"

namespace recrash::client {

// The note below leads to it.
extern "C" {
RECRASH_SEALED __attribute__((visibility("hidden"))) abi::ClientTable recrash_client_table;
}

namespace {

using signal_safe::ReadOwnAnyhow;

struct Search {
  int modules;
  const abi::ClientTable* other;
};

void ReadNotes(const dl_phdr_info& info, const ElfW(Phdr) & header, Search& search) {
  const char* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
  const char* const end = at + header.p_memsz;
  const size_t align = header.p_align == 8 ? 7 : 3;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof note);
    const char* const name = at + sizeof note;
    const char* const content = name + ((note.n_namesz + align) & ~align);
    if (content > end || note.n_descsz > static_cast<size_t>(end - content)) return;
    int64_t distance;
    if (note.n_type == abi::kClientNote && note.n_namesz == sizeof abi::kClientNoteOwner &&
        note.n_descsz == sizeof distance && memcmp(name, abi::kClientNoteOwner, note.n_namesz) == 0) {
      memcpy(&distance, content, sizeof distance);
      const auto* table = reinterpret_cast<const abi::ClientTable*>(content + distance);
      if (table != &recrash_client_table && table->is_live != 0 && table->size >= sizeof(abi::ClientTable))
        search.other = table;
    }
    at = content + ((note.n_descsz + align) & ~align);
  }
}

// Of a library alone: the program's own client is for all that happens.
void NoteOwnModule(const dl_phdr_info& info) {
  if (strchr(info.dlpi_name, '/') != nullptr) {
    SetAbsolute(g_state.beside, info.dlpi_name);
    *strrchr(g_state.beside, '/') = 0;
  }
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    g_state.own_code = {info.dlpi_addr + header.p_vaddr, info.dlpi_addr + header.p_vaddr + header.p_memsz};
  }
}

bool Holds(const dl_phdr_info& info, const void* place) {
  const uint64_t at = reinterpret_cast<uint64_t>(place) - info.dlpi_addr;
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_LOAD && at >= header.p_vaddr && at < header.p_vaddr + header.p_memsz) return true;
  }
  return false;
}

int Visit(dl_phdr_info* info, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  // The first is the program.
  if (search.modules++ != 0 && Holds(*info, &g_state)) NoteOwnModule(*info);
  for (size_t i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_NOTE) ReadNotes(*info, info->dlpi_phdr[i], search);
  return 0;
}

RECRASH_SIGNAL_SAFE bool IsServed(uint64_t pc) {
  for (uint32_t i = 0; i < g_progress.served_count && i < kMostServed; ++i)
    if (pc >= g_progress.served[i].begin && pc < g_progress.served[i].end) return true;
  return false;
}

// Behind a call. A word on the stack that only points to a function does not count.
RECRASH_SIGNAL_SAFE bool IsReturnAddress(uint64_t word) {
  constexpr uint64_t kLongest = 7;
  if (!IsServed(word)) return false;
  uint8_t before[kLongest];
  if (ReadOwnAnyhow(word - kLongest, before, kLongest) != kLongest) return false;
  if (before[kLongest - 5] == 0xe8) return true;
  for (const uint64_t length : {2, 3, 4, 6, 7})
    if (before[kLongest - length] == 0xff && (before[kLongest - length + 1] & 0x38) == 0x10) return true;
  return false;
}

RECRASH_SIGNAL_SAFE bool WillReturnToServedCode(uint64_t sp) {
  constexpr uint64_t kMostStack = 1 << 20;
  static uint64_t words[512];
  sp &= ~uint64_t{7};
  for (const uint64_t end = sp + kMostStack; sp < end;) {
    const uint64_t got = ReadOwnAnyhow(sp, words, sizeof words);
    for (uint64_t i = 0; i < got / sizeof words[0]; ++i)
      if (IsReturnAddress(words[i])) return true;
    if (got < sizeof words) return false;
    sp += got;
  }
  return false;
}

void Serve(uint64_t begin, uint64_t end) {
  const uint32_t place = __atomic_fetch_add(&g_progress.served_count, 1, __ATOMIC_ACQ_REL);
  if (place < kMostServed) g_progress.served[place] = {begin, end};
}

}  // namespace

bool FindOtherClient(bool preloaded) {
  Search search = {};
  dl_iterate_phdr(Visit, &search);
  if (preloaded) g_state.own_code = {};
  g_state.other = search.other;
  if (search.other != nullptr && g_state.own_code.end != 0)
    search.other->serve(g_state.own_code.begin, g_state.own_code.end);
  return search.other != nullptr;
}

void BecomeLive() {
  if (g_state.own_code.end != 0) Serve(g_state.own_code.begin, g_state.own_code.end);
  recrash_client_table = {sizeof recrash_client_table,
                          1,
                          Serve,
                          __recrash_report,
                          __recrash_keep_memory,
                          __recrash_mark,
                          __recrash_unmark,
                          __recrash_note,
                          __recrash_file,
                          __recrash_before_report,
                          __recrash_profiles,
                          __recrash_alive};
}

bool ConcernsServedCode() {
  if (g_state.own_code.end == 0) return true;
  if (g_record.kind == abi::FailureKind::kReported) return true;
  const greg_t* const registers = g_record.context.uc_mcontext.gregs;
  const auto* thrown = reinterpret_cast<const abi::ThrowRecord*>(g_record.throw_record);
  return IsServed(static_cast<uint64_t>(registers[REG_RIP])) ||
         (thrown != nullptr && IsServed(thrown->registers[16])) ||
         WillReturnToServedCode(static_cast<uint64_t>(registers[REG_RSP]));
}

}  // namespace recrash::client

asm(R"(
  .pushsection .note.recrash.client,"a",@note
  .balign 4
  .long 15, 8, 1
  .asciz "recrash-client"
  .balign 4
  .quad recrash_client_table - .
  .popsection
)");
