#include "testgen/replay/guest/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include <algorithm>
#include <iterator>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/call.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {

namespace {

constexpr Runtime& runtime = world.runtime;

// Itanium C++ ABI: the start of a __cxa_exception.
constexpr uint64_t kNextException = 32;
constexpr uint64_t kUnwindHeader = 80;    // exception_class, whose lowest byte is 1 for a rethrown std::exception_ptr
constexpr uint64_t kExceptionSize = 112;  // sizeof(__cxa_exception) of libstdc++; the object follows

// type_info::__do_catch, the fifth virtual function of libstdc++'s type_info; what(), the third of std::exception.
using DoCatch = bool (*)(const void* self, const void* thrown, void** object, unsigned outer);
using What = const char* (*)(const void* self);
constexpr int kDoCatchSlot = 4;
constexpr int kWhatSlot = 2;

void* FindInProgram(const char* name) {
  for (const plan::RuntimeSymbol& symbol : TableOf<plan::RuntimeSymbol>(world.plan->runtime_symbols)) {
    if (strcmp(TextOf(symbol.name), name) == 0) return Pointer<void>(ProgramModule()->live.start + symbol.offset);
  }
  return nullptr;
}

template <typename T>
void Set(T* pointer, void* found) {
  *pointer = reinterpret_cast<T>(found);
}

struct Walk {
  uint64_t pc;
  Observed* observed;
  bool started;
  int frames;
};

constexpr uint64_t kFunctionAlignment = 16;

// A sanitizer's functions are thousands, and follow each other.
void AddToolRange(const Range& range) {
  Range* last = runtime.tool_range_count ? &runtime.tool_ranges[runtime.tool_range_count - 1] : nullptr;
  if (last && range.start >= last->start && range.start < last->end + kFunctionAlignment) {
    last->end = range.end > last->end ? range.end : last->end;
  } else if (runtime.tool_range_count < kMostToolRanges) {
    runtime.tool_ranges[runtime.tool_range_count++] = range;
  }
}

// The agent's code in the program is no place of a failure.
void FindToolRanges() {
  for (const LiveModule& module : AllModules()) {
    if (!module.recorded) continue;
    const bool rebuilt = module.rebuilt();
    for (const plan::Symbol& symbol : TableOf<plan::Symbol>(module.recorded->symbols)) {
      if (!(symbol.flags & plan::kTool) || (rebuilt && !(symbol.flags & plan::kTranslated))) continue;
      const uint64_t start = module.live.start + (rebuilt ? symbol.new_offset : symbol.offset);
      AddToolRange({start, start + (rebuilt ? symbol.new_size : symbol.size)});
    }
  }
}

bool IsOwn(uint64_t pc) {
  for (int i = 0; i < runtime.tool_range_count; ++i) {
    if (pc > runtime.tool_ranges[i].start && pc <= runtime.tool_ranges[i].end) return false;
  }
  return (runtime.program && runtime.program->live.Contains(pc)) ||
         (runtime.place_module && runtime.place_module->live.Contains(pc));
}

bool IsInCode(uint64_t pc) {
  const LiveModule* module = FindLive(pc);
  if (!module) return false;
  return std::any_of(module->code, module->code + module->code_count,
                     [&](const Range& code) { return code.Contains(pc); });
}

bool IsInTerminate(uint64_t return_address) {
  return runtime.terminate && runtime.enclosing_function &&
         runtime.enclosing_function(Pointer<void>(return_address - 1)) == runtime.terminate;
}

// What is noted is kept if the next step fails: the stack may be damaged.
void NoteCode(uint64_t pc, Observed* observed) {
  if (observed->stack_size < plan::kMostAsked) observed->stack[observed->stack_size++] = pc;
  if (observed->own_pc == 0 && IsOwn(pc)) observed->own_pc = pc;
}

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  const uint64_t pc = runtime.get_ip(context);
  if (++walk->frames > 1000) return _URC_END_OF_STACK;
  // The handler's own frames come first.
  if (!walk->started && pc != walk->pc) return _URC_NO_REASON;
  walk->started = true;
  NoteCode(pc, walk->observed);
  if (walk->observed->own_pc == 0) walk->observed->terminated = walk->observed->terminated || IsInTerminate(pc);
  const bool enough =
      world.run.inquiries ? walk->observed->stack_size == plan::kMostAsked : walk->observed->own_pc != 0;
  return enough ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint64_t ThrownObject(uint64_t exception) {
  const bool dependent = *Pointer<uint8_t>(exception + kUnwindHeader) == 1;
  return dependent ? *Pointer<uint64_t>(exception) : exception + kExceptionSize;
}

void** VirtualTable(const void* object) { return *static_cast<void** const*>(object); }

const char* WhatOf(const void* type, uint64_t object) {
  if (!runtime.exception_type_info) return nullptr;
  auto* adjusted = Pointer<void>(object);
  const auto do_catch = reinterpret_cast<DoCatch>(VirtualTable(runtime.exception_type_info)[kDoCatchSlot]);
  if (!do_catch(runtime.exception_type_info, type, &adjusted, 1)) return nullptr;
  return reinterpret_cast<What>(VirtualTable(adjusted)[kWhatSlot])(adjusted);
}

}  // namespace

void* FindInRuntime(const char* name) {
  void* found = FindInProgram(name);
  return found ? found : dlsym(RTLD_DEFAULT, name);
}

namespace {

void FindHeapFunctions() {
  const LiveModule* library = FindLive(Number(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
  runtime.has_usual_heap = library != nullptr;
  for (int i = 0; i < kHeapFunctionCount; ++i) {
    const uint64_t entry = Number(dlsym(RTLD_DEFAULT, kHeapFunctions[i]));
    runtime.heap_functions[i] = entry;
    if (entry && FindLive(entry) != library) runtime.has_usual_heap = false;
  }
}

}  // namespace

void FindRuntime() {
  FindHeapFunctions();
  runtime.program = ProgramModule();
  const uint64_t place = world.plan->place_pc;
  for (const plan::Module& module : TableOf<plan::Module>(world.plan->modules)) {
    if (place >= module.base && place - module.base < module.size) runtime.place_module = ModuleOf(&module);
  }
  FindToolRanges();
  Set(&runtime.get_globals, FindInRuntime("__cxa_get_globals"));
  Set(&runtime.current_type, FindInRuntime("__cxa_current_exception_type"));
  Set(&runtime.exception_type_info, FindInRuntime("_ZTISt9exception"));
  Set(&runtime.terminate, FindInRuntime("_ZSt9terminatev"));
  // A pointer to a vtable leads behind its two first words.
  const auto vtable = [](const char* name) -> const void* {
    void** table = static_cast<void**>(FindInRuntime(name));
    return table ? table + 2 : nullptr;
  };
  runtime.one_base = vtable("_ZTVN10__cxxabiv120__si_class_type_infoE");
  runtime.many_bases = vtable("_ZTVN10__cxxabiv121__vmi_class_type_infoE");
  Set(&runtime.demangle, dlsym(RTLD_DEFAULT, "__cxa_demangle"));
  Set(&runtime.abort_message_slot, dlsym(RTLD_DEFAULT, "__abort_msg"));
  if (void* unwinder = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL)) {
    Set(&runtime.backtrace, dlsym(unwinder, "_Unwind_Backtrace"));
    Set(&runtime.get_ip, dlsym(unwinder, "_Unwind_GetIP"));
    Set(&runtime.enclosing_function, dlsym(unwinder, "_Unwind_FindEnclosingFunction"));
  }
}

void RestoreExceptionState() {
  if (!runtime.get_globals || LeftOut("exception_state")) return;
  ExceptionGlobals* globals = runtime.get_globals();
  if (world.plan->failure_kind == abi::FailureKind::kException && globals->caught) {
    globals->caught = *Pointer<uint64_t>(globals->caught + kNextException);
  }
}

namespace {

// Itanium C++ ABI, class std::type_info: vtable, name; __si_class_type_info: a base behind it; __vmi_class_type_info:
// flags and a count, then a base and its flags each.
struct TypeInfo {
  const void* vtable;
  const char* name;
};

struct ManyBases : TypeInfo {
  uint32_t flags;
  uint32_t count;
  struct {
    const TypeInfo* base;
    long flags;
  } bases[];
};

constexpr uint32_t kMostBases = 64;
constexpr int kDeepestBase = 32;
constexpr long kPublicBase = 2;

// Without a leading asterisk, which says that the name is compared by address only.
const char* NameOf(const TypeInfo* type) { return *type->name == '*' ? type->name + 1 : type->name; }

// A handler takes objects of classes derived from its own by public bases.
void AddBases(const TypeInfo* type, char* out, char* end, int depth) {
  const auto add = [&](const TypeInfo* base) {
    out += strlen(out);
    const size_t length = strlen(NameOf(base));
    if (static_cast<size_t>(end - out) < length + 2) return;
    memcpy(out, NameOf(base), length);
    out[length] = ' ';
    out[length + 1] = 0;
    AddBases(base, out, end, depth + 1);
  };
  if (depth == kDeepestBase) return;
  if (type->vtable == runtime.one_base) add(static_cast<const TypeInfo* const*>(static_cast<const void*>(type))[2]);
  if (type->vtable != runtime.many_bases) return;
  const auto* many = static_cast<const ManyBases*>(type);
  for (uint32_t i = 0; i < many->count && i < kMostBases; ++i) {
    if (many->bases[i].flags & kPublicBase) add(many->bases[i].base);
  }
}

}  // namespace

void ReadException(Observed* observed) {
  if (!runtime.get_globals || !runtime.current_type) return;
  const ExceptionGlobals* globals = runtime.get_globals();
  const void* type = runtime.current_type();
  if (!globals->caught || !type) return;
  const auto* class_type = static_cast<const TypeInfo*>(type);
  CopyText(observed->exception_type, sizeof observed->exception_type, NameOf(class_type));
  AddBases(class_type, observed->exception_bases, std::end(observed->exception_bases), 0);
  CopyText(observed->exception_what, sizeof observed->exception_what, WhatOf(type, ThrownObject(globals->caught)));
}

void FindOwnCode(uint64_t pc, uint64_t sp, Observed* observed) {
  // A call through a bad pointer has no frame of its own, be it into data: its return address was just pushed.
  if (!IsInCode(pc)) {
    const uint64_t caller = *Pointer<uint64_t>(sp);
    if (IsOwn(caller) && IsInCode(caller)) {
      observed->stack[observed->stack_size++] = pc;
      NoteCode(caller, observed);
      return;
    }
  }
  if (IsOwn(pc)) observed->own_pc = pc;
  if (!runtime.backtrace || !runtime.get_ip) {
    NoteCode(pc, observed);
    return;
  }
  Walk walk{pc, observed, false, 0};
  runtime.backtrace(Visit, &walk);
}

void DemangleType(const char* mangled, char* out, size_t size) {
  int status = 0;
  char* text = runtime.demangle ? runtime.demangle(mangled, nullptr, nullptr, &status) : nullptr;
  snprintf(out, size, "%s", text ? text : mangled);
  free(text);
}

// ---- Streams ----

namespace {

constexpr uint32_t kIstream = 1;
constexpr uint32_t kFile = 2;
// Room between this code's frames and those of what it calls: more than recrash_call takes.
constexpr uint64_t kStackDistance = 4096;

// Itanium C++ ABI: the offset of the first virtual base stands three words before what a vtable pointer points to. The
// virtual base of a std::istream is its std::ios.
constexpr uint64_t kVirtualBaseSlot = 24;

constexpr int kGoodBit = 0;
constexpr int kFromBeginning = 0;  // std::ios::beg

void Rewind(const StreamPlace* stream) {
  if (stream->kind == kFile) {
    world.streams.rewind_file(stream->address);
    return;
  }
  // The end-of-file mark first: a stream in a failed state does not seek.
  const uint64_t vtable = *Pointer<uint64_t>(stream->address);
  world.streams.clear(stream->address + *Pointer<uint64_t>(vtable - kVirtualBaseSlot), kGoodBit);
  world.streams.seek_from(stream->address, 0, kFromBeginning);
}

}  // namespace

void FindStreamFunctions() {
  Set(&world.streams.clear, FindInRuntime("_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate"));
  Set(&world.streams.seek_from, FindInRuntime("_ZNSi5seekgElSt12_Ios_Seekdir"));
  Set(&world.streams.rewind_file, FindInRuntime("rewind"));
}

bool CanRewind(uint32_t kind) {
  if (kind == kIstream) return world.streams.clear && world.streams.seek_from;
  return kind == kFile && world.streams.rewind_file;
}

// By recrash_call, since the stream may be anything: a handler leaves it in process, and an exception (a stream may be
// set to throw) ends there in std::terminate.
bool RewindStreams(const StreamPlace* streams, int count, const CallState& call) {
  for (int i = 0; i < count; ++i) {
    CallState state = call;
    state.integer[0] = Number(&streams[i]);
    state.function = reinterpret_cast<uint64_t>(&Rewind);
    state.sp = (Number(&state) - kStackDistance) & ~uint64_t{15};
    NoteRewinding(true);
    recrash_call(&state);
    if (HasEnded()) return false;
    NoteRewinding(false);
  }
  return true;
}

}  // namespace recrash::replay
