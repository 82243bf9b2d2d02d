#include "testgen/replay/place/place_traps.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/base/signal_safe/system_call.h"

namespace recrash::replay {
namespace {

using signal_safe::Call;

// So many instructions of the place are looked at, and as many of the rest of its function.
constexpr uint32_t kMostSteps = 10'000;
// An instruction of the rest that has run so often will do no other things.
constexpr uint32_t kMostHitsElsewhere = 500;
constexpr uint8_t kTrap = 0xcc;
constexpr greg_t kTrapFlag = 0x100;
constexpr uint64_t kRedZone = 128;  // below the stack pointer, which a function may use
constexpr uint64_t kLongestAnswer = 60'000'000'000;

struct Trap {
  uint64_t at;  // live
  uint32_t hits;
  const plan::PlaceCode* code;
  uint8_t original;
};

// Of the replay's process alone.
struct {
  TrapOptions options;
  Trap traps[plan::kMostPlaceCode];
  uint32_t count;
  uint32_t steps, steps_elsewhere;
  uint32_t
      most[plan::kMostPlaceCode];  // by copy of the function: how often the instruction of the place ran that ran most
  Trap* stepped;                   // its instruction runs by itself; the trap comes back behind it
  long thread;                     // that does so
  bool has_heap;
} own;

// In the order of the processor's numbers.
constexpr int kRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

constexpr uint8_t kStackPointer = 4, kFramePointer = 5;

uint64_t Register(const ucontext_t* context, uint8_t number) {
  return number < 16 ? static_cast<uint64_t>(context->uc_mcontext.gregs[kRegisters[number]]) : 0;
}

uint64_t AddressOf(const plan::PlaceCode& code, const ucontext_t* context) {
  return Register(context, code.base) + Register(context, code.index) * code.scale +
         static_cast<uint64_t>(static_cast<int64_t>(code.displacement));
}

BadAccess::Kind KindOf(HeapPlace::Kind kind) {
  switch (kind) {
    case HeapPlace::kFreed:
      return BadAccess::kFreed;
    case HeapPlace::kBehind:
      return BadAccess::kBehind;
    case HeapPlace::kUnused:
      return BadAccess::kUnused;
    default:
      return BadAccess::kNone;
  }
}

// By what a function looks at its own frame: __builtin_return_address.
bool IsFrameRegister(uint8_t number) { return number == kStackPointer || number == kFramePointer; }

// Notes the access if no object lives there.
void Look(const plan::PlaceCode& code, const ucontext_t* context) {
  const uint64_t address = AddressOf(code, context), stack_pointer = Register(context, kStackPointer);
  const uint32_t line = code.line;
  const uint64_t stack = own.options.stack_start;
  const bool on_stack = stack_pointer >= stack && stack_pointer <= own.options.stack_end;
  if (on_stack && address >= stack && address < stack_pointer - kRedZone) {
    own.options.seen->bad = {BadAccess::kDeadStack, line, address, 0, 0};
  } else if (!IsFrameRegister(code.base) && own.options.is_return_address(address)) {
    own.options.seen->bad = {BadAccess::kReturnAddress, line, address, 0, 0};
  } else if (own.has_heap) {
    const HeapPlace place = FindInHeap(address);
    const BadAccess::Kind kind = KindOf(place.kind);
    if (kind != BadAccess::kNone) own.options.seen->bad = {kind, line, address, place.block, place.size};
  }
}

Trap* TrapAt(uint64_t address) {
  for (uint32_t low = 0, high = own.count; low < high;) {
    const uint32_t middle = (low + high) / 2;
    if (own.traps[middle].at == address) return &own.traps[middle];
    if (own.traps[middle].at < address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return nullptr;
}

void Write(const Trap& trap, uint8_t byte) { *reinterpret_cast<volatile uint8_t*>(trap.at) = byte; }

// Is the trap needed any longer? Enough is known of its instruction, or of all.
bool IsDone(const Trap& trap) {
  if (trap.code->is_place) return own.steps >= kMostSteps;
  return trap.hits >= kMostHitsElsewhere || own.steps_elsewhere >= kMostSteps;
}

// The place was reached as often as the instruction of it that ran most, in each copy of the function.
void CountReached(const Trap& trap) {
  uint32_t& most = own.most[trap.code->copy];
  if (trap.hits <= most) return;
  most = trap.hits;
  ++own.options.seen->reached;
}

// The page of the code becomes writable for the rest of this process.
bool AddTrap(uint64_t at, const plan::PlaceCode& code) {
  const uint64_t page = signal_safe::PageDown(at);
  if (Call(SYS_mprotect, page, plan::kPageSize, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  uint32_t i = own.count++;
  for (; i > 0 && own.traps[i - 1].at > at; --i) own.traps[i] = own.traps[i - 1];
  own.traps[i] = {at, 0, &code, *reinterpret_cast<const uint8_t*>(at)};
  return true;
}

// Behind the instruction that ran by itself.
void EndStep(greg_t* registers) {
  if (!IsDone(*own.stepped)) Write(*own.stepped, kTrap);
  own.stepped = nullptr;
  registers[REG_EFL] &= ~kTrapFlag;
}

void Note(Trap* trap, const ucontext_t* context) {
  ++trap->hits;
  ++(trap->code->is_place ? own.steps : own.steps_elsewhere);
  own.options.seen->more = own.steps >= kMostSteps;
  if (trap->code->is_place) CountReached(*trap);
  if (trap->code->accesses && own.options.seen->bad.kind == BadAccess::kNone) Look(*trap->code, context);
}

}  // namespace

bool AskForPlace(plan::Inquiries* inquiries, PlaceInBuild* place) {
  if (!inquiries) return false;
  if (!place->asked) {
    place->asked = true;
    uint32_t before = plan::kNotAsked;
    __atomic_compare_exchange_n(&inquiries->place_state, &before, plan::kAsked, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    __atomic_fetch_add(&inquiries->asked, 1, __ATOMIC_RELEASE);
    Call(SYS_futex, &inquiries->asked, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    constexpr timespec kBetweenLooks{1, 0};
    const uint64_t until = signal_safe::Nanoseconds(CLOCK_MONOTONIC) + kLongestAnswer;
    while (__atomic_load_n(&inquiries->place_state, __ATOMIC_ACQUIRE) != plan::kAnswered) {
      if (signal_safe::Nanoseconds(CLOCK_MONOTONIC) >= until) return false;
      Call(SYS_futex, &inquiries->place_state, FUTEX_WAIT, plan::kAsked, &kBetweenLooks, nullptr, 0);
    }
    const uint32_t count = __atomic_load_n(&inquiries->place_count, __ATOMIC_RELAXED);
    place->count = count < plan::kMostPlaceCode ? count : plan::kMostPlaceCode;
    for (uint32_t i = 0; i < place->count; ++i) place->code[i] = inquiries->place[i];
    for (uint32_t i = 0; i + 1 < sizeof place->where; ++i) place->where[i] = inquiries->place_where[i];
  }
  return place->where[0] && place->count > 0;
}

void SetPlaceTraps(const PlaceInBuild& place, const TrapOptions& options) {
  own.options = options;
  own.count = own.steps = own.steps_elsewhere = 0;
  own.stepped = nullptr;
  for (uint32_t& most : own.most) most = 0;
  for (uint32_t i = 0; i < place.count; ++i) {
    const plan::PlaceCode& code = place.code[i];
    const uint64_t at = options.live(code.module, code.offset);
    if (code.copy >= plan::kMostPlaceCode || at == 0 || !AddTrap(at, code)) return;
  }
  own.has_heap = options.uses_heap && UseSpareHeap(options.heap);
  own.options.seen->known = true;
  for (uint32_t i = 0; i < own.count; ++i) Write(own.traps[i], kTrap);
}

bool PassTrap(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const auto pc = static_cast<uint64_t>(registers[REG_RIP]);
  const long thread = Call(SYS_gettid);
  if (own.stepped && own.thread == thread && (registers[REG_EFL] & kTrapFlag)) {
    if (own.stepped->at != pc) EndStep(registers);  // else it repeats
    return true;
  }
  Trap* trap = TrapAt(pc - 1);
  if (!trap) return false;
  registers[REG_RIP] = static_cast<greg_t>(trap->at);
  Note(trap, context);
  Write(*trap, trap->original);
  if (own.stepped) return true;  // of another thread: this trap is gone
  own.stepped = trap;
  own.thread = thread;
  registers[REG_EFL] |= kTrapFlag;
  return true;
}

}  // namespace recrash::replay
