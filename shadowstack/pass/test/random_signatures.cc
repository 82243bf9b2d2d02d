// The checker: from inside each callee it finds the callee's record as a reader of a report would (the map, the frame's
// registers), compares every word with what was passed, and then makes the call again from nothing but the words and
// the locations that the descriptor claims for them. The callee compares its parameters both times.
#include "shadowstack/pass/test/random_signatures.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "shadowstack/abi.h"

extern "C" {

struct CallState {
  uint64_t integers[7];  // rdi rsi rdx rcx r8 r9 r10
  alignas(16) unsigned char vectors[8][16];
};
void recrash_test_call(uintptr_t function, const CallState* state, const void* stack, size_t stack_size);
}

// Stack arguments start at a multiple of 64, more than any type here asks for.
asm(R"(
.text
.globl recrash_test_call
.type recrash_test_call,@function
recrash_test_call:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq %rcx, %rsp
  andq $-64, %rsp
  movq %rdi, %r11
  movq %rsi, %rax
  movq %rdx, %rsi
  movq %rsp, %rdi
  rep movsb
  movups 64(%rax), %xmm0
  movups 80(%rax), %xmm1
  movups 96(%rax), %xmm2
  movups 112(%rax), %xmm3
  movups 128(%rax), %xmm4
  movups 144(%rax), %xmm5
  movups 160(%rax), %xmm6
  movups 176(%rax), %xmm7
  movq 0(%rax), %rdi
  movq 8(%rax), %rsi
  movq 16(%rax), %rdx
  movq 24(%rax), %rcx
  movq 32(%rax), %r8
  movq 40(%rax), %r9
  movq 48(%rax), %r10
  movl $8, %eax
  call *%r11
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size recrash_test_call, .-recrash_test_call
)");
static_assert(offsetof(CallState, vectors) == 64);

namespace recrash::test {
namespace {

struct Parameter {
  const unsigned char* bytes;
  size_t size;
  int flags;
  std::vector<bool> meaningful;
  std::vector<bool> covered;
};

struct CallInProgress {
  std::string name;
  bool internal = false;
  bool has_sret = false;
  bool callable = true;
  std::vector<Parameter> parameters;
  int untraced = 0;  // words that may be of no parameter
  int probes = 0;
  bool again = false;
};

struct Caller {  // of Probe
  int depth = 0;
  uintptr_t start = 0, pc = 0, rsp = 0, rbp = 0, rbx = 0;
  uintptr_t cfa = 0;
};

struct Totals {
  int calls = 0, calls_again = 0, words = 0, fields = 0, words_without_parameter = 0, failures = 0;
};

CallInProgress current;
Totals totals;

__attribute__((format(printf, 1, 2))) void Fail(const char* format, ...) {
  printf("%s: ", current.name.c_str());
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  ++totals.failures;
}

// libgcc gives the stack pointer of a frame as the CFA of the frame below it.
_Unwind_Reason_Code Visit(_Unwind_Context* context, void* data) {
  auto& caller = *static_cast<Caller*>(data);
  if (caller.depth == 1) {
    caller.pc = _Unwind_GetIP(context);
    caller.start = _Unwind_GetRegionStart(context);
    caller.rsp = _Unwind_GetCFA(context);
    caller.rbx = _Unwind_GetGR(context, 3);
    caller.rbp = _Unwind_GetGR(context, 6);
  } else if (caller.depth == 2) {
    caller.cfa = _Unwind_GetCFA(context);
    return _URC_NORMAL_STOP;
  }
  ++caller.depth;
  return _URC_NO_REASON;
}

// The section is not loaded.
std::vector<char> ReadMap() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> elf((std::istreambuf_iterator<char>(file)), {});
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(elf.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(elf.data() + header->e_shoff);
  const char* names = elf.data() + sections[header->e_shstrndx].sh_offset;
  for (int i = 0; i < header->e_shnum; ++i)
    if (!strcmp(names + sections[i].sh_name, abi::kMapSection))
      return {elf.data() + sections[i].sh_offset, elf.data() + sections[i].sh_offset + sections[i].sh_size};
  return {};
}

uintptr_t LoadBias() {
  uintptr_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* data) {
        *static_cast<uintptr_t*>(data) = program->dlpi_addr;
        return 1;  // the program is the first
      },
      &bias);
  return bias;
}

const abi::MapWord* WordsOf(const abi::MapEntry& entry) {
  return reinterpret_cast<const abi::MapWord*>(reinterpret_cast<const char*>(&entry) + abi::kMapEntrySize);
}

const abi::MapEntry* FindEntry(const Caller& caller) {
  static const std::vector<char> map = ReadMap();
  static const uintptr_t bias = LoadBias();
  const abi::MapEntry* best = nullptr;
  uintptr_t best_label = 0;
  for (size_t at = 0; at + abi::kMapEntrySize <= map.size();) {
    const auto* entry = reinterpret_cast<const abi::MapEntry*>(map.data() + at);
    const uintptr_t label = bias + entry->label;
    if (label >= caller.start && label <= caller.pc && label >= best_label) {
      best = entry;
      best_label = label;
    }
    at += entry->size;
  }
  return best;
}

const unsigned char* FindRecord(const abi::MapEntry& entry, const Caller& caller) {
  const char* text = reinterpret_cast<const char*>(WordsOf(entry) + entry.word_count);
  char* end = nullptr;
  const long offset = strtol(text, &end, 0);
  uintptr_t base = 0;
  if (!strcmp(end, "(%rsp)"))
    base = caller.rsp;
  else if (!strcmp(end, "(%rbp)"))
    base = caller.rbp;
  else if (!strcmp(end, "(%rbx)"))
    base = caller.rbx;
  else
    return Fail("place of the record not understood: %s", text), nullptr;
  return reinterpret_cast<const unsigned char*>(base + offset);
}

// A word that the optimiser could not trace to a parameter still has to be right; the second call shows it.
void Compare(const abi::MapWord& word, const unsigned char* record, bool is_sret) {
  ++totals.words;
  // The probe comes behind every use.
  if (word.record_offset == abi::kNotStored) return Fail("a word of parameter %u is not stored", unsigned{word.parameter});
  if (word.parameter == 0) {
    if (is_sret) return;
    ++totals.words_without_parameter;
    if (!current.internal && current.untraced-- == 0) Fail("a word of size %u is of no parameter", unsigned{word.size});
    return;
  }
  if (word.parameter > current.parameters.size()) return Fail("no parameter %u", unsigned{word.parameter});
  Parameter& parameter = current.parameters[word.parameter - 1];
  const unsigned char* bytes = record + word.record_offset;
  size_t size = word.size;
  const bool indirect = word.flags & abi::kIndirect;
  if (indirect != bool(parameter.flags & kPassedByAddress))
    return Fail("parameter %u: indirect is %d", unsigned{word.parameter}, int{indirect});
  if (indirect) {
    uintptr_t address = 0;
    memcpy(&address, bytes, sizeof(address));
    bytes = reinterpret_cast<const unsigned char*>(address);
    size = parameter.size;
  }
  for (size_t i = 0; i < size; ++i) {
    const size_t at = word.source_offset + i;
    if (at >= parameter.size || !parameter.meaningful[at]) continue;
    parameter.covered[at] = true;
    if (bytes[i] != parameter.bytes[at])
      return Fail("parameter %u, byte %zu: %02x, passed %02x", unsigned{word.parameter}, at, bytes[i],
                  parameter.bytes[at]);
  }
}

// Nothing has written to the field since: what the record holds is still there.
void CompareField(const abi::MapWord& word, const unsigned char* record) {
  ++totals.fields;
  if (word.parameter == 0 || word.parameter > current.parameters.size())
    return current.internal ? void() : Fail("a field of parameter %u", unsigned{word.parameter});
  const Parameter& parameter = current.parameters[word.parameter - 1];
  const unsigned char* object = nullptr;
  if (parameter.flags & kPassedByAddress)
    object = parameter.bytes;
  else
    memcpy(&object, parameter.bytes, sizeof(object));
  if (memcmp(object + word.source_offset, record + word.record_offset, word.size) != 0)
    Fail("field at %u of parameter %u is not what is there", unsigned{word.source_offset}, unsigned{word.parameter});
}

void CheckCoverage() {
  for (size_t p = 0; p < current.parameters.size(); ++p) {
    const Parameter& parameter = current.parameters[p];
    if (!(parameter.flags & kUsed) || (parameter.flags & kMayBeUntraced)) continue;
    for (size_t i = 0; i < parameter.size; ++i)
      if (parameter.meaningful[i] && !parameter.covered[i])
        return Fail("parameter %zu, byte %zu of %zu: in no word", p + 1, i, parameter.size);
  }
}

void CallAgain(uintptr_t function, const abi::MapEntry& entry, const abi::MapWord* words, const unsigned char* record) {
  CallState state;
  memset(&state, 0xa5, sizeof(state));
  unsigned char stack[1024];
  memset(stack, 0x5a, sizeof(stack));
  for (int i = 0; i < entry.word_count; ++i) {
    const abi::MapWord& word = words[i];
    if (static_cast<abi::WordKind>(word.kind) != abi::WordKind::kArgument) continue;
    const unsigned char* bytes = record + word.record_offset;
    if (word.location <= static_cast<uint8_t>(abi::Location::kR10)) {
      memcpy(&state.integers[word.location], bytes, word.size);
    } else if (word.location >= static_cast<uint8_t>(abi::Location::kXmm0) &&
               word.location < static_cast<uint8_t>(abi::Location::kXmm0) + 8) {
      memcpy(state.vectors[word.location - static_cast<uint8_t>(abi::Location::kXmm0)], bytes, word.size);
    } else if (word.location == static_cast<uint8_t>(abi::Location::kStack)) {
      if (word.stack_offset + word.size > sizeof(stack)) return Fail("stack offset %u", unsigned{word.stack_offset});
      memcpy(stack + word.stack_offset, bytes, word.size);
    } else {
      return Fail("a word of parameter %u has no location", unsigned{word.parameter});
    }
  }
  current.again = true;
  recrash_test_call(function, &state, stack, sizeof(stack));
  current.again = false;
  ++totals.calls_again;
  if (current.probes != 2) Fail("the second call did not come to the probe");
}

}  // namespace

void Begin(const char* name, bool internal, bool has_sret) {
  current = {};
  current.name = name;
  current.internal = internal;
  current.has_sret = has_sret;
}

void Passes(const void* bytes, size_t size, int flags) {
  current.parameters.push_back({static_cast<const unsigned char*>(bytes), size, flags, std::vector<bool>(size, true),
                                std::vector<bool>(size, false)});
  current.untraced += (flags & kMayBeUntraced) != 0;
}

void MeaningfulBytes(size_t offset, size_t size) {
  Parameter& parameter = current.parameters.back();
  static const Parameter* narrowed = nullptr;
  static std::string narrowed_name;
  if (narrowed != &parameter || narrowed_name != current.name + std::to_string(current.parameters.size())) {
    parameter.meaningful.assign(parameter.size, false);
    narrowed = &parameter;
    narrowed_name = current.name + std::to_string(current.parameters.size());
  }
  for (size_t i = offset; i < offset + size; ++i) parameter.meaningful[i] = true;
}

void CannotBeCalledAgain() { current.callable = false; }

void Differs(int parameter) {
  Fail("%s call: parameter %d is not what was passed", current.again ? "second" : "first", parameter);
}

void Probe() {
  ++current.probes;
  if (current.again) return;
  ++totals.calls;
  Caller caller;
  _Unwind_Backtrace(Visit, &caller);
  const abi::MapEntry* entry = FindEntry(caller);
  if (!entry) {
    bool any_used = false;
    for (const Parameter& parameter : current.parameters) any_used |= parameter.flags & kUsed;
    if (any_used && !current.internal) Fail("no descriptor");
    return;
  }
  if (entry->version != abi::kMapVersion) Fail("version %u", unsigned{entry->version});
  Dl_info symbol;
  if (dladdr(reinterpret_cast<void*>(caller.start), &symbol) &&
      symbol.dli_saddr == reinterpret_cast<void*>(caller.start) &&
      entry->function_hash != abi::HashLinkageName(symbol.dli_sname, strlen(symbol.dli_sname)))
    Fail("the descriptor is not of %s", symbol.dli_sname);
  const abi::MapWord* words = WordsOf(*entry);
  const unsigned char* record = FindRecord(*entry, caller);
  if (!record) return;
  for (int i = 0; i < entry->word_count; ++i)
    if (static_cast<abi::WordKind>(words[i].kind) == abi::WordKind::kArgument)
      Compare(words[i], record, current.has_sret && i == 0);
    else
      CompareField(words[i], record);
  if (!current.internal) CheckCoverage();
  if (current.callable) CallAgain(caller.start, *entry, words, record);
}

void End() {
  if (current.probes == 0) Fail("the probe was not reached");
}

int Finish(bool wants_fields) {
  printf("%d calls, %d made again, %d words, %d of no known parameter, %d fields, %d failures\n", totals.calls,
         totals.calls_again, totals.words, totals.words_without_parameter, totals.fields, totals.failures);
  if (totals.calls == 0 || totals.calls_again <= totals.calls / 2) return 1;
  if (wants_fields != (totals.fields > 0)) return 1;
  return totals.failures == 0 ? 0 : 1;
}

}  // namespace recrash::test
