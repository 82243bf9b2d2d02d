// What people want to see beside the failing stack: the source around the failing line, the thrown object, the other
// threads, the mutexes that are held.
//
//   const Surroundings around = ReadSurroundings(report, symbols, backtrace.place, renderer);
//
// Each part is there only where it is certain: the source only if it is the compiled one, by its checksum or its time,
// the object only if its class is known, a mutex only if its owner is a thread of the report.
#ifndef RECRASH_TESTGEN_SYMBOLS_SURROUNDINGS_H_
#define RECRASH_TESTGEN_SYMBOLS_SURROUNDINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/symbols.h"
#include "testgen/symbols/text/render.h"

namespace recrash {

struct SourceExcerpt {
  uint32_t first = 0;  // the line's number
  uint32_t failing = 0;
  std::vector<std::string> lines;
};

struct ThreadTrace {
  int32_t id = 0;
  std::string name;
  struct Call {
    std::string function;  // as people read it; "" if not known
    std::string file;
    uint32_t line = 0;
    bool own = false;  // of the program
  };
  std::vector<Call> calls;  // innermost first; inlined ones too
};

struct Surroundings {
  std::optional<SourceExcerpt> source;
  std::optional<RenderedValue> thrown;  // the exception that ended the program
  std::vector<ThreadTrace> threads;     // all but the failing one
  std::vector<std::string> locks;       // one sentence each
};

Surroundings ReadSurroundings(const Report& report, const Symbols& symbols, const ReportMemory& memory,
                              const Place& place, Renderer& renderer);

// Returns the text of a source file if it is the one that the code at `pc` was compiled from.
std::optional<std::string> CompiledSource(const Symbols& symbols, TargetAddress pc, const std::string& path);

// Returns the lines around `line` of a text; nothing if it has no such line.
std::optional<SourceExcerpt> ExcerptOf(const std::string& text, uint32_t line);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_SURROUNDINGS_H_
