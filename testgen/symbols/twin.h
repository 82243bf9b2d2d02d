// A twin in which a frame of the crash is replayed: the same sources, built without inlining. What the optimiser has
// lost of an inlined call's arguments, the twin passes to a function.
//
//   Result<std::unique_ptr<Twin>> twin = Twin::Open(process, options);  // stopped at a function's first instruction
//   for (const TwinEntry& entry : (*twin)->EntriesOf(frames)) program.Arm(entry.address);
#ifndef RECRASH_TESTGEN_SYMBOLS_TWIN_H_
#define RECRASH_TESTGEN_SYMBOLS_TWIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/dwarf/leaves.h"
#include "testgen/symbols/failing_stack.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/symbols.h"
#include "testgen/symbols/values/frame_values.h"
#include "testgen/symbols/values/inlined_call.h"

namespace recrash {

// Where the twin enters the function of a frame of the crash.
struct TwinEntry {
  uint32_t frame = 0;  // Frame::index
  TargetAddress address;
};

// One call that is live in the twin.
struct TwinCall {
  const LiveFunction* function = nullptr;
  ValueReader* values = nullptr;
  TargetAddress low;  // its locals lie from here to `high`
  TargetAddress high;
};

class Twin {
 public:
  // `process` is the twin's, as a report: modules, the registers of the thread that stands at an entry, memory. It must
  // outlive the result.
  static Result<std::unique_ptr<Twin>> Open(const Report& process, const SymbolOptions& options);

  // Returns the entries of the functions of the frames that are of the program's own source. A frame whose function the
  // twin does not have for certain is left out: lambdas are numbered otherwise in each build.
  std::vector<TwinEntry> EntriesOf(const std::vector<Frame>& frames);

  // Unwinds the stack up to the frame that was entered at `outer_sp`. Returns the calls from the innermost on, that one
  // included; none if the stack does not lead there.
  const std::vector<TwinCall>& CallsUpTo(TargetAddress outer_sp);

  // Returns what the twin calls the function at an entry.
  std::string NameAt(TargetAddress entry) const { return symbols_.code().At(entry).live.back().linkage_name; }

  const Report& process() const { return process_; }
  const Symbols& symbols() const { return symbols_; }
  const ReportMemory& memory() const { return stack_->memory; }

 private:
  Twin(const Report& process, Symbols symbols) : process_(process), symbols_(std::move(symbols)) {}
  bool IsDeclaredAs(TargetAddress entry, const Frame& frame);
  std::vector<TargetAddress> FunctionsLike(const Frame& frame);

  const Report& process_;
  Symbols symbols_;
  std::unique_ptr<FailingStack> stack_;
  Stack calls_stack_;
  std::vector<std::unique_ptr<ValueReader>> readers_;
  std::vector<TwinCall> calls_;
};

// The twin as a report of no process, at the addresses of its file. kMissing: there is no such file.
Result<Report> TwinFile(const std::string& path);

// Is it of the program's own source, and not of a library that is compiled into it?
bool IsOfSource(const LiveFunction& function);
// Do both say the same of where they are declared? Linkage names of lambdas differ between builds.
bool IsSameDeclaration(const LiveFunction& a, const LiveFunction& b);

// A function that was live in the program when the inlined call began: the inlined one, those around it, outwards.
struct ChainLink {
  const LiveFunction* function = nullptr;
  ValueReader* values = nullptr;
};

// The arguments of an inlined call as a twin was given them, in a replay of the same frame around.
//
//   Result<std::unique_ptr<TwinArguments>> arguments = TwinArguments::Match(twin, outer_sp, chain, here, modules);
//   if (arguments) builder.CallFromItsEntry(readers, around, arguments->get(), frame);
//
// Heap and globals lie where they lie in the program, since both replays begin with the same memory. Locals do not:
//
// - An address of a local becomes that of the same variable, if the optimised program has it in memory with that value.
// - Else the object is copied to the stack of the call, with all addresses in it translated.
// - Functions, vtables and variables are found by their symbols, literals by their text.
//
// What an address leads to has to be the same in both processes. Else nothing is known.
class TwinArguments final : public OtherArguments {
 public:
  // `twin` stands at the entry of the function that `chain` begins with; both stacks lead to the frame that was entered
  // at `outer_sp`. `here` is the program's memory where the inlined call began. All of them must outlive the result.
  // kRefused: the twin came there by other calls.
  static Result<std::unique_ptr<TwinArguments>> Match(Twin& twin, TargetAddress outer_sp, std::vector<ChainLink> chain,
                                                      const ReportMemory& here, ModuleSet& modules);

  void UseSpare(TargetAddress at, uint64_t size) override {
    spare_ = at;
    spare_end_ = at + size;
  }
  std::optional<Bytes> Passed(size_t position, const PlacedParameter& placed) override;
  std::vector<std::pair<TargetAddress, Bytes>> Objects() const override;

 private:
  struct Copy {
    TargetAddress from;
    TargetAddress to;
    Bytes bytes;
  };
  struct Local {
    Dwarf_Die variable{};
    TargetAddress address;
    uint64_t size = 0;
    const TwinCall* call = nullptr;
  };

  TwinArguments(Twin& twin, std::vector<ChainLink> chain, const ReportMemory& here, ModuleSet& modules)
      : twin_(twin), chain_(std::move(chain)), here_(here), modules_(modules) {}

  bool Pair(const std::vector<TwinCall>& calls);
  std::optional<Bytes> Raw(size_t position);
  bool Translate(Dwarf_Die type, Bytes& bytes, int depth);
  std::optional<uint64_t> Address(uint64_t address, std::optional<Dwarf_Die> pointer, int depth);
  std::optional<uint64_t> OfStack(uint64_t address, std::optional<Dwarf_Die> pointer, int depth);
  std::optional<uint64_t> OfProgram(uint64_t address, std::optional<Dwarf_Die> pointer);
  std::optional<uint64_t> OfText(uint64_t address);
  std::optional<uint64_t> CopyOf(TargetAddress from, Dwarf_Die type, uint64_t size, int depth);
  std::optional<Local> LocalAt(uint64_t address);
  std::optional<uint64_t> SameLocal(const Local& local);
  bool IsSame(uint64_t there, uint64_t here, Dwarf_Die type);
  bool IsOnStack(uint64_t address) const;
  bool IsInTwin(uint64_t address) const;
  DebugInfo& debug() const { return *calls_.front().values->code().debug; }

  Twin& twin_;
  std::vector<ChainLink> chain_;
  const ReportMemory& here_;
  ModuleSet& modules_;
  std::vector<TwinCall> calls_;
  std::vector<const ChainLink*> pairs_;  // for each of calls_; null: the program has no such call
  std::optional<PlacedCall> places_;     // of the twin's function
  std::vector<Copy> copies_;
  TargetAddress spare_;
  TargetAddress spare_end_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TWIN_H_
