#include "testgen/symbols/bad_value.h"

#include <algorithm>
#include <csignal>
#include <cstring>

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;

bool IsAddress(const Parameter& parameter) { return parameter.type.is_address() || parameter.indirect; }

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

// Templates of the standard library are compiled into the program: std::vector<T>::at throws for its caller.
bool IsStandard(const Frame& frame) {
  for (const char* prefix : {"_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx", "_ZNK9__gnu_cxx"})
    if (frame.linkage_name.starts_with(prefix)) return true;
  return false;
}

// An exception, an assertion, or an abort of the program's own. If glibc aborts, it leaves a message that says why.
bool Refused(const Failure& failure) {
  if (failure.kind == FailureKind::kException) return true;
  const std::string& why = failure.abort_message;
  return failure.kind == FailureKind::kSignal && failure.signal == SIGABRT &&
         (why.empty() || why.find("Assertion") != std::string::npos);
}

}  // namespace

bool HoldsBadValue(const Report& report, const Frame& frame) {
  const Failure& failure = report.failure;
  if (failure.kind != FailureKind::kSignal || (failure.signal != SIGSEGV && failure.signal != SIGBUS)) return false;
  constexpr int kFromKernel = 0x80;  // SI_KERNEL: a general protection fault has no address
  for (const Parameter& parameter : frame.parameters) {
    if (!parameter.complete || parameter.bytes.size() != 8 || !IsAddress(parameter)) continue;
    uint64_t value = 0;
    std::memcpy(&value, parameter.bytes.data(), sizeof(value));
    if (IsCanonical(value) && IsUsable(report, value, AccessOf(parameter))) continue;
    if (failure.code == kFromKernel ? !IsCanonical(value) : failure.address.value - value < kPage) return true;
  }
  return false;
}

void MarkBadValues(const Report& report, std::vector<Frame>& frames) {
  for (Frame& frame : frames) frame.holds_bad_value = HoldsBadValue(report, frame);
  const Failure& failure = report.failure;
  if (!Refused(failure)) return;
  const auto refusing =
      std::ranges::find_if(frames, [](const Frame& frame) { return frame.own && !IsStandard(frame); });
  // An inlined call got its arguments from the function around it, and nobody calls main with other arguments.
  if (refusing == frames.end() || refusing->inlined || refusing->function == "main") return;
  for (const Parameter& parameter : refusing->parameters) refusing->holds_bad_value |= parameter.complete;
}

}  // namespace recrash
