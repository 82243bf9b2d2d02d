#include "testgen/symbols/bad_value.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "testgen/symbols/values/memory_operand.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kFromKernel = 0x80;  // SI_KERNEL: a general protection fault has no address

bool IsAddress(const Parameter& parameter) { return parameter.type.is_address() || parameter.indirect; }

bool IsFault(const Failure& failure) {
  return failure.kind == FailureKind::kSignal && (failure.signal == SIGSEGV || failure.signal == SIGBUS);
}

// Bits 47 to 63 of an address are all alike. The processor refuses other addresses, and does not say which one it was.
bool IsCanonical(uint64_t address) {
  const uint64_t top = address >> 47;
  return top == 0 || top == 0x1ffff;
}

bool IsUsable(const Report& report, uint64_t address, uint32_t access) {
  const Mapping* mapping = report.FindMapping({address});
  return mapping != nullptr && (mapping->flags & access) != 0;
}

uint32_t AccessOf(const Parameter& parameter) {
  const std::vector<Type>& pointee = parameter.type.pointee;
  return !pointee.empty() && pointee[0].kind == TypeKind::kFunction ? kMapExecute : kMapRead;
}

std::optional<uint64_t> AddressIn(const Parameter& parameter) {
  if (!parameter.complete || parameter.bytes.size() != 8 || !IsAddress(parameter)) return std::nullopt;
  uint64_t value = 0;
  std::memcpy(&value, parameter.bytes.data(), sizeof(value));
  return value;
}

bool IsBad(const Report& report, const Parameter& parameter, uint64_t value) {
  return !IsCanonical(value) || !IsUsable(report, value, AccessOf(parameter));
}

// Does the failing access lie where the bad address leads?
bool Explains(const Failure& failure, uint64_t value) {
  return failure.code == kFromKernel ? !IsCanonical(value) : failure.address.value - value < kPage;
}

// Does the register have its value from the argument's place in memory? In code that is not optimised, the instruction
// before has loaded it.
bool WasLoaded(const ReportMemory& memory, const UnwoundFrame& unwound, uint8_t into, TargetAddress from) {
  constexpr size_t kLengths[] = {4, 5, 7, 8};
  for (const size_t length : kLengths) {
    std::vector<uint8_t> code(length);
    if (!memory.Read(unwound.pc - length, code)) continue;
    const auto load = MemoryOperandAt(code);
    const auto base = load ? unwound.registers.Get(load->base) : std::nullopt;
    if (base && load->loads == into && load->length == length &&
        *base + static_cast<uint64_t>(load->displacement) == from.value)
      return true;
  }
  return false;
}

}  // namespace

void MarkIfUsed(const Report& report, const ReportMemory& memory, const UnwoundFrame& unwound, ValueReader& values,
                Frame* frame) {
  if (!IsFault(report.failure) || !unwound.exact || !frame->own) return;
  uint8_t bytes[16] = {};
  size_t size = sizeof bytes;
  while (size > 0 && !memory.Read(unwound.pc, {bytes, size})) --size;
  const auto operand = MemoryOperandAt({bytes, size});
  const auto base = operand ? unwound.registers.Get(operand->base) : std::nullopt;
  if (!base) return;
  const bool is_there = report.failure.code == kFromKernel
                            ? !IsCanonical(*base)
                            : *base + static_cast<uint64_t>(operand->displacement) == report.failure.address.value;
  if (!is_there) return;
  for (const ParameterInfo& info : values.function().parameters) {
    const auto parameter = std::ranges::find(frame->parameters, info.described.number, &Parameter::number);
    if (!info.has_die || parameter == frame->parameters.end()) continue;
    const auto value = AddressIn(*parameter);
    if (value != base || !IsBad(report, *parameter, *value)) continue;
    const auto in = values.RegisterAtPc(info.die);
    const auto at = values.AddressAtPc(info.die);
    if (in == operand->base) frame->holds_bad_value = true;
    if (at && WasLoaded(memory, unwound, operand->base, {ToUnsigned(*at)})) frame->holds_bad_value = true;
  }
}

void MarkBadValues(const Report& report, std::vector<Frame>& frames) {
  if (!IsFault(report.failure)) return;
  std::optional<uint64_t> bad;
  for (Frame& frame : frames) {
    if (!frame.own) {
      if (bad) return;
      continue;
    }
    bool has = false;
    for (const Parameter& parameter : frame.parameters) {
      const auto value = AddressIn(parameter);
      if (!value || *value < kPage || (bad && value != bad)) continue;
      if (!IsBad(report, parameter, *value) || !Explains(report.failure, *value)) continue;
      bad = value;
      has = true;
    }
    if (!has) return;
    frame.holds_bad_value = true;
  }
}

}  // namespace recrash
