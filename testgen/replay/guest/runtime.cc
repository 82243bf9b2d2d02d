#include "testgen/replay/guest/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/call.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {

const char* volatile* abort_message_slot = nullptr;

namespace {

// Itanium C++ ABI: what __cxa_get_globals gives, and the start of a __cxa_exception.
struct ExceptionGlobals {
  uint64_t caught;  // __cxa_exception*
  uint32_t uncaught_count;
};
constexpr uint64_t kNextException = 32;
constexpr uint64_t kUnwindHeader = 80;    // exception_class, whose lowest byte is 1 for a rethrown std::exception_ptr
constexpr uint64_t kExceptionSize = 112;  // sizeof(__cxa_exception) of libstdc++; the object follows

using GetGlobals = ExceptionGlobals* (*)();
using CurrentType = void* (*)();
using Backtrace = _Unwind_Reason_Code (*)(_Unwind_Reason_Code (*)(_Unwind_Context*, void*), void*);
using GetIp = _Unwind_Ptr (*)(_Unwind_Context*);
using EnclosingFunction = void* (*)(void*);
using DemangleText = char* (*)(const char*, char*, size_t*, int*);
// type_info::__do_catch, the fifth virtual function of libstdc++'s type_info; what(), the third of std::exception.
using DoCatch = bool (*)(const void* self, const void* thrown, void** object, unsigned outer);
using What = const char* (*)(const void* self);
constexpr int kDoCatchSlot = 4;
constexpr int kWhatSlot = 2;

GetGlobals get_globals;
CurrentType current_type;
Backtrace backtrace;
GetIp get_ip;
EnclosingFunction enclosing_function;
const void* terminate;
DemangleText demangle;
const void* exception_type_info;
const LiveModule* program;
const LiveModule* place_module;

constexpr int kMostToolRanges = 1024;
Range tool_ranges[kMostToolRanges];
int tool_range_count;

void* FindInProgram(const char* name) {
  for (const plan::RuntimeSymbol& symbol : TableOf<plan::RuntimeSymbol>(world.plan->runtime_symbols)) {
    if (strcmp(TextOf(symbol.name), name) == 0) return Pointer<void>(ProgramModule()->live.start + symbol.offset);
  }
  return nullptr;
}

template <typename T>
T Find(const char* name) {
  return reinterpret_cast<T>(FindInRuntime(name));
}

struct Walk {
  uint64_t pc;
  uint64_t found;
  bool started;
  int frames;
  bool terminated;
};

// The agent's code in the program is no place of a failure.
void FindToolRanges() {
  for (const LiveModule& module : AllModules()) {
    if (!module.recorded) continue;
    const bool rebuilt = module.rebuilt();
    for (const plan::Symbol& symbol : TableOf<plan::Symbol>(module.recorded->symbols)) {
      if (!(symbol.flags & plan::kTool) || (rebuilt && !(symbol.flags & plan::kTranslated))) continue;
      if (tool_range_count == kMostToolRanges) break;
      const uint64_t start = module.live.start + (rebuilt ? symbol.new_offset : symbol.offset);
      tool_ranges[tool_range_count++] = {start, start + (rebuilt ? symbol.new_size : symbol.size)};
    }
  }
}

bool IsOwn(uint64_t pc) {
  for (int i = 0; i < tool_range_count; ++i) {
    if (pc > tool_ranges[i].start && pc <= tool_ranges[i].end) return false;
  }
  return (program && program->live.Contains(pc)) || (place_module && place_module->live.Contains(pc));
}

bool IsInTerminate(uint64_t return_address) {
  return terminate && enclosing_function && enclosing_function(Pointer<void>(return_address - 1)) == terminate;
}

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  const uint64_t pc = get_ip(context);
  if (++walk->frames > 1000) return _URC_END_OF_STACK;
  // The handler's own frames come first.
  if (!walk->started && pc != walk->pc) return _URC_NO_REASON;
  walk->started = true;
  walk->terminated = walk->terminated || IsInTerminate(pc);
  if (!IsOwn(pc)) return _URC_NO_REASON;
  walk->found = pc;
  return _URC_END_OF_STACK;
}

uint64_t ThrownObject(uint64_t exception) {
  const bool dependent = *Pointer<uint8_t>(exception + kUnwindHeader) == 1;
  return dependent ? *Pointer<uint64_t>(exception) : exception + kExceptionSize;
}

void** VirtualTable(const void* object) { return *static_cast<void** const*>(object); }

const char* WhatOf(const void* type, uint64_t object) {
  if (!exception_type_info) return nullptr;
  auto* adjusted = Pointer<void>(object);
  const auto do_catch = reinterpret_cast<DoCatch>(VirtualTable(exception_type_info)[kDoCatchSlot]);
  if (!do_catch(exception_type_info, type, &adjusted, 1)) return nullptr;
  return reinterpret_cast<What>(VirtualTable(adjusted)[kWhatSlot])(adjusted);
}

}  // namespace

void* FindInRuntime(const char* name) {
  void* found = FindInProgram(name);
  return found ? found : dlsym(RTLD_DEFAULT, name);
}

void FindRuntime() {
  program = ProgramModule();
  const uint64_t place = world.plan->place_pc;
  for (const plan::Module& module : TableOf<plan::Module>(world.plan->modules)) {
    if (place >= module.base && place - module.base < module.size) place_module = ModuleOf(&module);
  }
  FindToolRanges();
  get_globals = Find<GetGlobals>("__cxa_get_globals");
  current_type = Find<CurrentType>("__cxa_current_exception_type");
  exception_type_info = Find<const void*>("_ZTISt9exception");
  terminate = Find<const void*>("_ZSt9terminatev");
  demangle = reinterpret_cast<DemangleText>(dlsym(RTLD_DEFAULT, "__cxa_demangle"));
  abort_message_slot = reinterpret_cast<const char* volatile*>(dlsym(RTLD_DEFAULT, "__abort_msg"));
  void* unwinder = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
  if (unwinder) {
    backtrace = reinterpret_cast<Backtrace>(dlsym(unwinder, "_Unwind_Backtrace"));
    get_ip = reinterpret_cast<GetIp>(dlsym(unwinder, "_Unwind_GetIP"));
    enclosing_function = reinterpret_cast<EnclosingFunction>(dlsym(unwinder, "_Unwind_FindEnclosingFunction"));
  }
}

void RestoreExceptionState() {
  if (!get_globals || LeftOut("exception_state")) return;
  ExceptionGlobals* globals = get_globals();
  if (world.plan->failure_kind == abi::FailureKind::kException && globals->caught) {
    globals->caught = *Pointer<uint64_t>(globals->caught + kNextException);
  }
}

void ReadException(Observed* observed) {
  if (!get_globals || !current_type) return;
  const ExceptionGlobals* globals = get_globals();
  const void* type = current_type();
  if (!globals->caught || !type) return;
  // std::type_info: vtable, name. A leading asterisk says that the name is compared by address only.
  const char* name = static_cast<const char* const*>(type)[1];
  CopyText(observed->exception_type, sizeof observed->exception_type, *name == '*' ? name + 1 : name);
  CopyText(observed->exception_what, sizeof observed->exception_what, WhatOf(type, ThrownObject(globals->caught)));
}

uint64_t FindOwnCode(uint64_t pc, uint64_t sp, bool* terminated) {
  *terminated = false;
  if (IsOwn(pc)) return pc;
  // A call through a bad pointer has no frame of its own: its return address was just pushed.
  if (!FindLive(pc)) {
    const uint64_t caller = *Pointer<uint64_t>(sp);
    if (IsOwn(caller)) return caller;
  }
  if (!backtrace || !get_ip) return 0;
  Walk walk{pc, 0, false, 0, false};
  backtrace(Visit, &walk);
  *terminated = walk.terminated;
  return walk.found;
}

void DemangleType(const char* mangled, char* out, size_t size) {
  int status = 0;
  char* text = demangle ? demangle(mangled, nullptr, nullptr, &status) : nullptr;
  snprintf(out, size, "%s", text ? text : mangled);
  free(text);
}

}  // namespace recrash::replay
