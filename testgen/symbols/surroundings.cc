#include "testgen/symbols/surroundings.h"

#include <algorithm>
#include <filesystem>

#include "agent/base/file_io.h"
#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "testgen/symbols/dwarf/source_checksum.h"
#include "testgen/symbols/files/md5.h"
#include "testgen/symbols/stack/unwind.h"

namespace recrash {
namespace {

constexpr uint32_t kAround = 3;  // lines
constexpr size_t kMaxSource = 8u << 20;
constexpr size_t kMaxThreads = 32;
constexpr size_t kMaxCalls = 64;
constexpr uint32_t kMutexOwner = 8;  // pthread_mutex_t: lock, count, owner, users

std::optional<std::string> ReadSource(const std::string& path) {
  const Result<InputFile> file = InputFile::Open(path);
  if (!file || file->size() > kMaxSource) return std::nullopt;
  std::string text(file->size(), 0);
  if (!file->ReadAt(0, text.data(), text.size())) return std::nullopt;
  return text;
}

std::optional<SourceExcerpt> SourceAt(const Symbols& symbols, const Place& place) {
  if (place.file.empty()) return std::nullopt;
  const std::optional<std::string> text = CompiledSource(symbols, place.pc - 1, place.file);
  return text ? ExcerptOf(*text, place.line) : std::nullopt;
}

// __cxa_throw was called with the object and its type, and the hook kept these registers. The type's symbol has to
// carry the name that the report has of the exception: the registers are those of another throw otherwise.
std::optional<RenderedValue> ThrownObject(const Report& report, const Symbols& symbols, const ReportMemory& memory,
                                          Renderer& renderer) {
  const std::string& type = report.failure.exception_type;
  if (!report.thrown || report.failure.kind != FailureKind::kException || type.empty()) return std::nullopt;
  const TargetAddress object = {report.thrown->registers.dwarf[5]}, info = {report.thrown->registers.dwarf[4]};
  LoadedModule* module = symbols.modules().Find(info);
  const ElfSymbol* symbol = module == nullptr ? nullptr : module->names->ObjectAt(info.value - module->bias());
  uint8_t probe = 0;
  if (symbol == nullptr || symbol->name != "_ZTI" + type || !memory.Read(object, {&probe, 1})) return std::nullopt;
  const CodeInfo& thrower = symbols.code().At(TargetAddress{report.thrown->registers.pc()} - 1);
  if (thrower.debug == nullptr) return std::nullopt;
  const auto found = thrower.debug->TypeNamed(DemangleType(type));
  return found ? std::optional(renderer.ObjectAt(*thrower.debug, *found, object)) : std::nullopt;
}

ThreadTrace TraceOf(const Thread& thread, Unwinder& unwinder, CodeReader& code) {
  ThreadTrace trace;
  trace.id = thread.id;
  trace.name = thread.name;
  for (const UnwoundFrame& frame : unwinder.Walk(RegisterFile(thread.registers), true, kMaxCalls).inner) {
    const CodeInfo& info = code.At(frame.lookup_pc());
    const bool own = info.module != nullptr && info.module->own;
    for (const LiveFunction& live : info.live) trace.calls.push_back({live.function, live.at.file, live.at.line, own});
    if (info.live.empty()) trace.calls.push_back({});
  }
  return trace;
}

std::string ThreadName(const Report& report, int32_t id) {
  const auto thread = std::ranges::find(report.threads, id, &Thread::id);
  if (thread == report.threads.end()) return "";
  return thread->failing ? "the failing thread" : "thread " + std::to_string(id);
}

// A thread that waits for a mutex is in futex(2), which it gave the mutex's address and FUTEX_WAIT.
std::optional<std::string> WaitsFor(const Report& report, const ReportMemory& memory, const Thread& thread,
                                    const ThreadTrace& trace) {
  constexpr uint64_t kPrivate = 128, kRealtime = 256, kWait = 0, kWaitBitset = 9;
  const auto calls = [&](const char* name) {
    return std::ranges::any_of(
        trace.calls, [&](const ThreadTrace::Call& call) { return call.function.find(name) != std::string::npos; });
  };
  const uint64_t operation = thread.registers.dwarf[4] & ~(kPrivate | kRealtime);
  if (!calls("lll_lock_wait") || (operation != kWait && operation != kWaitBitset)) return std::nullopt;
  const TargetAddress mutex = {thread.registers.dwarf[5]};
  const auto lock = memory.ReadNumber(mutex, 4), owner = memory.ReadNumber(mutex + kMutexOwner, 4);
  if (!lock || *lock == 0 || !owner) return std::nullopt;
  const std::string holder = ThreadName(report, static_cast<int32_t>(*owner));
  if (holder.empty()) return std::nullopt;
  return ThreadName(report, thread.id) + " waits for the mutex at " + HexNumber(mutex.value) + ", which " + holder +
         " holds";
}

}  // namespace

std::optional<std::string> CompiledSource(const Symbols& symbols, TargetAddress pc, const std::string& path) {
  const CodeInfo& code = symbols.code().At(pc);
  if (!code.scopes || code.debug == nullptr) return std::nullopt;
  std::error_code error;
  const auto checksum = SourceChecksum(*code.debug, code.scopes->unit, path);
  std::optional<std::string> text = ReadSource(path);
  if (!text || (checksum && Md5(*text) != *checksum)) return std::nullopt;
  // clang leaves all checksums out if one file of the unit has none, and gcc has none at all. Then the source must not
  // be newer than the file that was built of it.
  if (!checksum && std::filesystem::last_write_time(path, error) >
                       std::filesystem::last_write_time(code.debug->file().path(), error))
    return std::nullopt;
  return text;
}

std::optional<SourceExcerpt> ExcerptOf(const std::string& text, uint32_t line) {
  SourceExcerpt excerpt;
  excerpt.failing = line;
  excerpt.first = line > kAround ? line - kAround : 1;
  uint32_t number = 1;
  for (size_t at = 0; at < text.size() && number <= line + kAround; ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (number >= excerpt.first) excerpt.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (line == 0 || excerpt.first + excerpt.lines.size() <= line) return std::nullopt;
  return excerpt;
}

Surroundings ReadSurroundings(const Report& report, const Symbols& symbols, const ReportMemory& memory,
                              const Place& place, Renderer& renderer) {
  Surroundings around;
  around.source = SourceAt(symbols, place);
  around.thrown = ThrownObject(report, symbols, memory, renderer);
  const ReportMemory plain(report, &symbols.modules());  // without the stack at the throw
  Unwinder unwinder(symbols.modules(), plain);
  for (const Thread& thread : report.threads) {
    if (thread.failing || around.threads.size() >= kMaxThreads || thread.registers.pc() == 0) continue;
    around.threads.push_back(TraceOf(thread, unwinder, symbols.code()));
    if (auto waits = WaitsFor(report, plain, thread, around.threads.back())) around.locks.push_back(*std::move(waits));
  }
  for (const HeldMutex& held : renderer.held_mutexes()) {
    const std::string holder = ThreadName(report, held.owner);
    if (!holder.empty()) around.locks.push_back(held.name + " is held by " + holder);
  }
  return around;
}

}  // namespace recrash
