#include "testgen/flips/used_pointers.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <span>

#include "testgen/symbols/values/memory_access.h"

namespace recrash {
namespace {

constexpr int kFromKernel = 0x80;      // SI_KERNEL: a general protection fault has no address
constexpr uint64_t kLowest = 1 << 20;  // below it lie null and its neighbours
constexpr uint64_t kWidest = 64;       // bytes that an instruction accesses at a time
constexpr uint64_t kNear = 4096;

// By the processor's numbers.
constexpr std::array<uint8_t, 16> kDwarf = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::array<const char*, 16> kNames = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
constexpr uint8_t kRsp = 4;

bool IsFault(const Failure& failure) {
  return failure.kind == FailureKind::kSignal && (failure.signal == SIGSEGV || failure.signal == SIGBUS) &&
         failure.code > 0;
}

class Reader {
 public:
  Reader(const Report& report, const Registers& registers, const LiveObjects& objects)
      : report_(report), registers_(registers), objects_(objects) {}

  std::vector<UsedPointer> Read();

 private:
  uint64_t Register(uint8_t number) const { return number == kNoRegister ? 0 : registers_.dwarf[kDwarf[number]]; }
  bool IsBad(uint64_t value) const { return value >= kLowest && !objects_.IsUsable(value); }
  bool IsKnown() const { return report_.failure.code != kFromKernel; }
  bool Explains(uint64_t access) const { return !IsKnown() || report_.failure.address.value - access < kWidest; }
  void AddAccess(const MemoryAccess& access);
  void AddTarget(std::span<const uint8_t> code, const watch::Instruction& instruction,
                 const std::optional<MemoryAccess>& access);
  void AddAll();
  void Add(uint64_t value, uint64_t access, bool is_function, const std::string& place) {
    if (IsBad(value)) used_.push_back({value, access, is_function, place});
  }

  const Report& report_;
  const Registers& registers_;
  const LiveObjects& objects_;
  std::vector<UsedPointer> used_;
};

// The pointer may stand in the place of the index as well: a sum has no order.
void Reader::AddAccess(const MemoryAccess& access) {
  const uint64_t base = Register(access.base), index = Register(access.index);
  const uint64_t at = base + index * access.scale + static_cast<uint64_t>(int64_t{access.displacement});
  if (!Explains(at)) return;
  if (access.base != kNoRegister && access.base != kRsp) Add(base, at, false, kNames[access.base]);
  if (access.index != kNoRegister && access.scale == 1) Add(index, at, false, kNames[access.index]);
}

// A call or a jump to where the processor has no address fails before it is made.
void Reader::AddTarget(std::span<const uint8_t> code, const watch::Instruction& instruction,
                       const std::optional<MemoryAccess>& access) {
  if (instruction.modrm == 0 || code[instruction.modrm - 1] != 0xff || IsKnown()) return;
  const uint8_t modrm = code[instruction.modrm];
  const uint8_t operation = modrm >> 3 & 7;
  if (operation != 2 && operation != 4) return;
  if (modrm >> 6 == 3) {
    const bool is_extended = instruction.modrm >= 2 && (code[instruction.modrm - 2] & 0xf1) == 0x41;
    const uint8_t number = (modrm & 7) | (is_extended ? 8 : 0);
    return Add(Register(number), Register(number), true, kNames[number]);
  }
  if (!access) return;
  const uint64_t at = Register(access->base) + Register(access->index) * access->scale +
                      static_cast<uint64_t>(int64_t{access->displacement});
  if (const auto target = objects_.memory().ReadWord({at})) Add(*target, *target, true, kMemory);
}

void Reader::AddAll() {
  for (uint8_t number = 0; number < kNames.size(); ++number) {
    const uint64_t value = Register(number);
    const uint64_t distance = report_.failure.address.value - value;
    const bool is_near = distance < kNear || -distance < kNear;
    if (number != kRsp && (!IsKnown() || is_near))
      Add(value, IsKnown() ? report_.failure.address.value : value, false, kNames[number]);
  }
}

std::vector<UsedPointer> Reader::Read() {
  const uint64_t pc = registers_.pc();
  if (!objects_.IsCode(pc)) {
    if (pc >= kLowest) used_.push_back({pc, pc, true, "the instruction pointer"});
    return std::move(used_);
  }
  std::array<uint8_t, 16> code{};
  size_t size = code.size();
  while (size > 0 && !objects_.memory().Read({pc}, std::span(code).first(size))) --size;
  const watch::Instruction instruction = watch::DecodeInstruction(code.data(), size, pc);
  const std::optional<MemoryAccess> access = MemoryAccessOf(std::span(code).first(size), instruction);
  AddTarget(code, instruction, access);
  if (access)
    AddAccess(*access);
  else if (used_.empty())
    AddAll();
  return std::move(used_);
}

}  // namespace

std::vector<UsedPointer> UsedPointers(const Report& report, const LiveObjects& objects) {
  const Thread* thread = report.failing_thread();
  if (thread == nullptr || !IsFault(report.failure)) return {};
  return Reader(report, thread->registers, objects).Read();
}

}  // namespace recrash
