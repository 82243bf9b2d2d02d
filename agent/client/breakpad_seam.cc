// Gives Breakpad's exception_handler.cc what it needs of the rest of Breakpad and of libstdc++, in a client that never
// writes a dump in its own process.
//
// The handler is constructed with a CrashGenerationClient whose requests fail. That is Breakpad's own way of saying
// "not handled" without cloning a writer into the dying process: HandleSignal then restores the program's earlier
// handlers and lets the signal come again. The minidump is the collector's work.
//
// Everything here becomes local to the archive's one object (see CMakeLists.txt), so that a program with its own
// Breakpad, or its own operator new, never meets it.
#include <stddef.h>
#include <stdint.h>

#include <list>
#include <string>

#include "agent/client/client.h"
#include "client/linux/crash_generation/crash_generation_client.h"
#include "client/linux/handler/microdump_extra_info.h"
#include "client/linux/microdump_writer/microdump_writer.h"
#include "client/linux/minidump_writer/minidump_writer.h"
#include "common/linux/guid_creator.h"

namespace {

// Start-up allocates one vector element and one CrashGenerationClient, 16 bytes together; nothing later.
alignas(16) RECRASH_SEALED char g_arena[1024];
RECRASH_SEALED size_t g_arena_used;

class NeverDumps final : public google_breakpad::CrashGenerationClient {
 public:
  bool RequestDump(const void*, size_t) override { return false; }
};

}  // namespace

namespace google_breakpad {

CrashGenerationClient* CrashGenerationClient::TryCreate(int) { return new NeverDumps; }

bool WriteMinidump(const char*, pid_t, pid_t) { return false; }

bool WriteMinidump(const char*, off_t, pid_t, const void*, size_t, const MappingList&, const AppMemoryList&, bool,
                   uintptr_t, bool) {
  return false;
}

bool WriteMinidump(int, off_t, pid_t, const void*, size_t, const MappingList&, const AppMemoryList&, bool, uintptr_t,
                   bool) {
  return false;
}

bool WriteMicrodump(pid_t, const void*, size_t, const MappingList&, bool, uintptr_t, bool, const MicrodumpExtraInfo&) {
  return false;
}

}  // namespace google_breakpad

// Names for dump files; needed only if a dump were written in the process.
bool CreateGUID(GUID*) { return false; }
bool GUIDToString(const GUID*, char*, int) { return false; }

void* operator new(size_t size) {
  const size_t begin = (g_arena_used + 15) & ~size_t{15};
  if (size > sizeof g_arena - begin) __builtin_trap();
  g_arena_used = begin + size;
  return g_arena + begin;
}
void operator delete(void*) noexcept {}
void operator delete(void*, size_t) noexcept {}

// std::string and std::list appear in classes that the handler holds, always empty here.
template void std::string::_M_assign(const std::string&);
template std::string& std::string::_M_append(const char*, std::string::size_type);
template std::string::pointer std::string::_M_create(std::string::size_type&, std::string::size_type);
template void std::string::_M_mutate(std::string::size_type, std::string::size_type, const char*,
                                     std::string::size_type);

void std::__throw_length_error(const char*) { __builtin_trap(); }

void std::__detail::_List_node_base::_M_hook(std::__detail::_List_node_base* position) noexcept {
  _M_next = position;
  _M_prev = position->_M_prev;
  position->_M_prev->_M_next = this;
  position->_M_prev = this;
}

void std::__detail::_List_node_base::_M_unhook() noexcept {
  _M_next->_M_prev = _M_prev;
  _M_prev->_M_next = _M_next;
}

// Breakpad's are compiled under these names.
extern "C" int recrash_real_sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  return recrash::client::RealSigaction(number, action, before);
}
extern "C" sighandler_t recrash_real_signal(int number, sighandler_t handler) {
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  return recrash::client::RealSigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

extern "C" void __cxa_pure_virtual() { __builtin_trap(); }
