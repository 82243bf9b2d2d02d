// The failing thread's stack, unwound.
#ifndef RECRASH_TESTGEN_SYMBOLS_FAILING_STACK_H_
#define RECRASH_TESTGEN_SYMBOLS_FAILING_STACK_H_

#include <cstdint>
#include <memory>
#include <span>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/stack/unwind.h"
#include "testgen/symbols/symbols.h"

namespace recrash {

// Its members refer to each other, to the report and to the symbols.
struct FailingStack {
  FailingStack(const Report& report, const Symbols& symbols)
      : memory(report, &symbols.modules()), unwinder(symbols.modules(), memory) {}
  FailingStack(const FailingStack&) = delete;

  ReportMemory memory;
  Unwinder unwinder;
  UnwoundStack unwound;
  std::span<const uint8_t> fxsave;  // of the innermost frame; empty when it is not the innermost of all
};

// Fails if the report does not say which thread failed.
Result<std::unique_ptr<FailingStack>> UnwindFailingStack(const Report& report, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FAILING_STACK_H_
