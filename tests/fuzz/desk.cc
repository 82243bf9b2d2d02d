// The records of a report beside tests, and what the desk does with them before it runs anything: the plan of a replay,
// objects carried over to another build, what may be private, what is taken out, the generated source.
//
// The first byte chooses: whether the program is the build that crashed. Then come metadata and replay data, each
// behind its size of two bytes. What follows is repeated in all memory of the process.
#include <algorithm>
#include <cstring>
#include <span>

#include "agent/report/archive.h"
#include "agent/report/maps.h"
#include "testgen/emit/emit.h"
#include "testgen/emit/launch_file.h"
#include "testgen/replay/host/carried_report.h"
#include "testgen/replay/plan/plan_builder.h"
#include "testgen/suite/holdings.h"

namespace recrash {
namespace {

constexpr uint64_t kMostMemory = 64 << 10;

std::span<const uint8_t> TakePart(std::span<const uint8_t>* rest) {
  uint16_t size = 0;
  if (rest->size() < sizeof size) return {};
  std::memcpy(&size, rest->data(), sizeof size);
  const std::span<const uint8_t> part = rest->subspan(sizeof size, std::min<size_t>(size, rest->size() - sizeof size));
  *rest = rest->subspan(sizeof size + part.size());
  return part;
}

void FillMemory(std::span<const uint8_t> bytes, TestReport* report) {
  uint64_t left = kMostMemory, end = 0;
  for (const Mapping& mapping : report->mappings) {
    const uint64_t size = std::min(mapping.end.value - mapping.start.value, left);
    if (!IsPrivateWritable(mapping) || size == 0 || mapping.start.value < end) continue;
    end = mapping.start.value + size;
    Region region{mapping.start, std::vector<uint8_t>(size)};
    for (size_t at = 0; at < size && !bytes.empty(); ++at) region.bytes[at] = bytes[at % bytes.size()];
    report->memory.push_back(std::move(region));
    left -= size;
  }
  if (report->memory.empty()) return;
  for (EntryState& state : report->replay.entry_states)
    state.memory = EntryMemory::Layer{{report->memory.front().address, std::vector<uint8_t>(4096, 1)}};
}

ProgramFile Today(const TestReport& report, const Module& module, bool same) {
  ProgramFile file;
  file.path = "/nowhere/server";
  file.build_id = same ? module.build_id : module.build_id + "00";
  file.symbols = {{0x1000, 64, true, "main"}, {0x1130, 64, true, "_ZN4Tree6insertEi"}, {0x3000, 8, false, "counter"}};
  if (const ModuleImage* image = report.replay.FindImage(module); image && !same) {
    file.symbols = image->symbols;
    for (Symbol& symbol : file.symbols) symbol.offset += 16;
    file.thread_locals = image->thread_locals;
    file.tls_size = 64;
  }
  return file;
}

// Types of another build: the same but for their sizes.
std::vector<TypeLayout> Grown(std::vector<TypeLayout> types) {
  for (TypeLayout& type : types) {
    if (type.form != TypeForm::kClass) continue;
    type.size += 8;
    for (TypeMember& member : type.members) member.offset += 8;
  }
  return types;
}

void Carry(const TestReport& report, CarriedReport* carried) {
  for (const Module& module : report.modules) {
    const ModuleImage* image = report.replay.FindImage(module);
    if (!image || image->types.empty()) continue;
    const std::vector<TypeLayout> now = Grown(image->types);
    TypePairs types(image->types, now);
    ChangedModule changed;
    changed.module = &module;
    changed.image = image;
    changed.types = &types;
    for (const ReplayFrame& frame : report.replay.frames) changed.parameters[frame.index] = frame.parameters;
    for (const Variable& variable : image->variables) changed.variables.emplace_back(&variable, variable.type);
    carried->Carry(changed);
  }
}

void Plan(const TestReport& report, bool same, CarriedReport* carried) {
  const Module* program = report.program();
  if (!program) return;
  std::vector<RebuiltLibrary> libraries;
  for (size_t i = 0; i < report.modules.size() && !same; ++i) {
    const Module& module = report.modules[i];
    if (!module.is_program && report.replay.FindImage(module)) libraries.push_back({i, Today(report, module, same)});
  }
  PlanOptions options;
  options.report_path = "crash_test.rcr";
  options.to_load.resize(report.modules.size());
  options.trust_report = true;
  options.variables = carried->variables;
  (void)BuildPlan(carried->report() ? *carried->report() : report, Today(report, *program, same), libraries, options);
}

void Write(const TestReport& report) {
  const Backtrace backtrace;
  (void)EmitTests(report, backtrace, {.report_name = "report"});
  (void)EmitLaunchFile(report, backtrace, {}, false);
}

void TakeOut(TestReport* report) {
  const std::vector<HeldText> texts = TextsIn(*report);
  (void)EnvironmentIn(*report);
  Redaction redaction;
  redaction.environment = redaction.files = redaction.logs = redaction.notes = true;
  if (!texts.empty()) redaction.texts = {texts.front().text};
  for (const Thread& thread : report->threads) {
    const uint64_t sp = thread.registers.sp();
    redaction.frames.push_back({{sp}, {sp + 256}});
  }
  (void)Redact(redaction, report);
}

}  // namespace
}  // namespace recrash

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recrash;
  if (size == 0) return 0;
  const bool same = *data % 2 == 0;
  std::span<const uint8_t> rest(data + 1, size - 1);
  TestReport report;
  if (!DecodeMetadata(TakePart(&rest), format::kVersion, &report)) return 0;
  if (!DecodeReplay(TakePart(&rest), format::kVersion, &report.replay)) return 0;
  FillMemory(rest, &report);
  CarriedReport carried(report);
  if (!same) Carry(report, &carried);
  Plan(report, same, &carried);
  Write(report);
  TakeOut(&report);
  return 0;
}
