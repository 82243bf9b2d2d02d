// recrash show: a report in words.
#include <fmt/format.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "agent/base/text.h"
#include "agent/report/recorded_states.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/parcel.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/load.h"
#include "testgen/suite/source_signature.h"

namespace recrash::cli {
namespace {

constexpr size_t kMostFrames = 100;  // more is a recursion, and of that this is enough:
constexpr size_t kFromEachEnd = 20;

const EntryState* StateOf(const Report& report, const Frame& frame) {
  return frame.inlined ? nullptr : FindRecorded(report, frame.entry, frame.entry_sp);
}

std::string StateText(const EntryState& state) {
  std::string how;
  if (state.copied_depth != 0)
    how = fmt::format("copies to depth {}{}", state.copied_depth, state.copies_cut ? ", not all" : "");
  if (state.others_ran) how += how.empty() ? "other threads ran" : "; other threads ran";
  return how.empty() ? ", entry state" : fmt::format(", entry state ({})", how);
}

std::string FrameMark(const Report& report, const Frame& frame) {
  const EntryState* recorded = StateOf(report, frame);
  const std::string state = recorded ? StateText(*recorded) : "";
  if (frame.is_signal_frame) return "signal";
  if (frame.inlined) return "inlined";
  if (frame.monitored) return "monitored" + state;
  return (frame.own ? "not monitored" : "library") + state;
}

void PrintFrame(const Report& report, const Frame& frame) {
  const std::string function = frame.function.empty() ? fmt::format("{:#x}", frame.pc.value) : frame.function;
  const std::string place = frame.file.empty() ? BaseName(frame.module) : fmt::format("{}:{}", frame.file, frame.line);
  fmt::print("  #{:<3} {}  {}  {}\n", frame.index, Coloured(Colour::kBold, PrintableText(function)),
             PrintableText(place), Coloured(Colour::kDim, fmt::format("[{}]", FrameMark(report, frame))));
  for (const Parameter& parameter : frame.parameters) {
    const std::string value = !parameter.complete && parameter.rendered.empty() ? "not kept" : parameter.rendered;
    const std::string name = parameter.name.empty() ? fmt::format("argument {}", parameter.number) : parameter.name;
    fmt::print("         {} = {}\n", PrintableText(name),
               PrintableText(parameter.lines.empty() ? value : parameter.lines[0]));
    for (size_t i = 1; i < parameter.lines.size(); ++i) fmt::print("         {}\n", PrintableText(parameter.lines[i]));
  }
}

void PrintBacktrace(const Report& report, const Backtrace& backtrace) {
  const auto& frames = backtrace.frames;
  const bool fold = frames.size() > kMostFrames || backtrace.skipped > 0;
  const size_t head = fold ? kFromEachEnd : frames.size();
  for (size_t i = 0; i < head; ++i) PrintFrame(report, frames[i]);
  if (head < frames.size()) {
    fmt::print("  ... {} more frames ...\n", frames.size() - 2 * head + backtrace.skipped);
    for (size_t i = frames.size() - head; i < frames.size(); ++i) PrintFrame(report, frames[i]);
  }
}

// The other threads, their own frames alone if they have any, and the mutexes that are held.
void PrintAround(const Surroundings& around) {
  constexpr size_t kMostCalls = 12;
  for (const ThreadTrace& trace : around.threads) {
    fmt::print("\nthread {}{}\n", trace.id, trace.name.empty() ? "" : PrintableText(" (" + trace.name + ")"));
    for (size_t i = 0; i < std::min(trace.calls.size(), kMostCalls); ++i) {
      const ThreadTrace::Call& call = trace.calls[i];
      fmt::print("       {}{}\n", PrintableText(call.function.empty() ? "?" : call.function),
                 call.file.empty() ? "" : PrintableText(fmt::format("  {}:{}", call.file, call.line)));
    }
    if (trace.calls.size() > kMostCalls) fmt::print("       ... {} more ...\n", trace.calls.size() - kMostCalls);
  }
  if (!around.locks.empty()) fmt::print("\n");
  for (const std::string& lock : around.locks) fmt::print("lock: {}\n", PrintableText(lock));
}

void PrintReplaced(const Report& report) {
  if (!report.replaced) return;
  const ReplacedException& replaced = *report.replaced;
  fmt::print("replaced {}{}: a handler caught it, and threw this one\n\n", PrintableText(DemangleType(replaced.type)),
             replaced.what.empty() ? "" : PrintableText(" (" + replaced.what + ")"));
}

void PrintThrown(const Surroundings& around) {
  if (!around.thrown) return;
  const std::vector<std::string> one = {around.thrown->line};
  for (const std::string& line : around.thrown->lines.empty() ? one : around.thrown->lines)
    fmt::print("{}{}\n", &line == &one[0] || &line == around.thrown->lines.data() ? "thrown   " : "         ",
               PrintableText(line));
  fmt::print("\n");
}

// What the program says of itself (RECRASH_NOTE).
void PrintProgramNotes(const Report& report) {
  if (report.notes.empty()) return;
  fmt::print("\nnoted by the program\n");
  for (const recrash::Note& note : report.notes)
    fmt::print("  {} = {}{}\n", PrintableText(note.key), PrintableText(note.value), note.cut ? " (cut)" : "");
}

void PrintLogs(const Report& report) {
  for (const KeptLog& log : report.logs) {
    const std::string part = log.tail.empty()              ? "not held"
                             : log.tail.size() == log.size ? "held"
                                                           : "the last " + SizeText(log.tail.size()) + " held";
    fmt::print("  {} {}, {}, {}\n", log.title(), PrintableText(log.path), SizeText(log.size), part);
  }
}

// Names as the command line has them; paths of what was only open.
void PrintInputs(const Report& report) {
  for (const Input& input : report.inputs) {
    const std::string& name = input.names.empty() ? input.path : input.names.front();
    const std::string held = input.held()           ? "content held"
                             : input.sha256.empty() ? "content not held"
                                                    : "content not held, only its SHA-256";
    const std::string why = input.held() ? "" : fmt::format(" ({})", WhyNotHeld(input.content));
    fmt::print("  {} {}, {}, {}{}\n", input.attached ? "attached file" : "file", PrintableText(name),
               SizeText(input.size), held, why);
  }
}

double Milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

// What the program recorded at its entries, and what that took.
void PrintSnapshots(const Report& report) {
  if (!report.snapshots) return;
  const SnapshotFigures& figures = report.snapshots->figures;
  const uint64_t skipped = figures.skipped_rate + figures.skipped_budget + figures.skipped_memory +
                           figures.skipped_pause + figures.skipped_busy;
  fmt::print("entry states of {} frames; {} snapshots taken, {} skipped", report.snapshots->states.size(),
             figures.taken, skipped);
  if (skipped > 0) {
    fmt::print(" (rate {}, snapshot_cpu {}, snapshot_memory {}, pause {}, busy {})", figures.skipped_rate,
               figures.skipped_budget, figures.skipped_memory, figures.skipped_pause, figures.skipped_busy);
  }
  fmt::print("\n  {:.1f} ms of {:.0f} ms CPU, longest pause {:.1f} ms, at most {} of pages\n",
             Milliseconds(figures.cpu_ns), Milliseconds(figures.process_cpu_ns), Milliseconds(figures.longest_pause_ns),
             SizeText(figures.log_bytes));
  fmt::print("  and about {:.1f} ms for {} entries of watched functions, {:.1f} ms for writes to protected pages\n",
             Milliseconds(figures.entries_ns), figures.entries, Milliseconds(figures.faults_ns));
}

void PrintHoldings(const Report& report, uint64_t bytes) {
  const size_t sockets = static_cast<size_t>(
      std::ranges::count_if(report.files, [](const OpenFile& file) { return file.path.starts_with("socket:"); }));
  fmt::print("\nholds {} of memory in {} regions{}, {} thread{}, {} modules, {} open files{}; {} on disk\n",
             SizeText(SizeOf(report.memory)), report.memory.size(), report.memory_complete ? "" : " (cut at the limit)",
             report.threads.size(), report.threads.size() == 1 ? "" : "s", report.modules.size(), report.files.size(),
             sockets ? fmt::format(" ({} sockets)", sockets) : "", SizeText(bytes));
  PrintInputs(report);
  PrintLogs(report);
  PrintSnapshots(report);
  if (report.code.changed > 0)
    fmt::print("{} bytes of code are not as in the files: breakpoints, or something has patched them\n",
               report.code.changed);
  if (report.process.collect_ns > 0) fmt::print("collected in {:.1f} ms\n", Milliseconds(report.process.collect_ns));
  for (const std::string& loss : report.losses) fmt::print("lost: {}\n", PrintableText(loss));
}

nlohmann::ordered_json SnapshotsJson(const Report& report) {
  if (!report.snapshots) return nullptr;
  const SnapshotFigures& figures = report.snapshots->figures;
  return {{"frames", report.snapshots->states.size()},
          {"taken", figures.taken},
          {"skipped_rate", figures.skipped_rate},
          {"skipped_budget", figures.skipped_budget},
          {"skipped_memory", figures.skipped_memory},
          {"skipped_pause", figures.skipped_pause},
          {"skipped_busy", figures.skipped_busy},
          {"cpu_ns", figures.cpu_ns},
          {"process_cpu_ns", figures.process_cpu_ns},
          {"longest_pause_ns", figures.longest_pause_ns},
          {"pages_copied", figures.pages_copied},
          {"log_bytes", figures.log_bytes},
          {"entries", figures.entries},
          {"entries_ns", figures.entries_ns},
          {"faults_ns", figures.faults_ns}};
}

nlohmann::ordered_json InputsJson(const Report& report) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const Input& input : report.inputs)
    inputs.push_back({{"names", input.names},
                      {"path", input.path},
                      {"size", input.size},
                      {"sha256", input.sha256},
                      {"held", input.held()},
                      {"attached", input.attached},
                      {"why_not", WhyNotHeld(input.content)}});
  return inputs;
}

nlohmann::ordered_json ProgramNotesJson(const Report& report) {
  nlohmann::ordered_json notes = nlohmann::ordered_json::array();
  for (const recrash::Note& note : report.notes)
    notes.push_back({{"key", note.key}, {"value", note.value}, {"cut", note.cut}});
  return notes;
}

nlohmann::ordered_json ThreadsJson(const Surroundings& around) {
  nlohmann::ordered_json threads = nlohmann::ordered_json::array();
  for (const ThreadTrace& trace : around.threads) {
    nlohmann::ordered_json calls = nlohmann::ordered_json::array();
    for (const ThreadTrace::Call& call : trace.calls)
      calls.push_back({{"function", call.function}, {"file", call.file}, {"line", call.line}, {"own", call.own}});
    threads.push_back({{"id", trace.id}, {"name", trace.name}, {"calls", calls}});
  }
  return threads;
}

void PrintHead(const Report& report, const std::string& failure, const std::string& name) {
  const Process& process = report.process;
  fmt::print("{}\n\n", Coloured(Colour::kBold, PrintableText(failure)));
  fmt::print("report   {}\n", PrintableText(name));
  fmt::print("program  {}{}\n", PrintableText(process.program),
             process.version.empty() ? "" : PrintableText(", version " + process.version));
  fmt::print("build    {}\n",
             process.mode.empty() ? "not instrumented" : PrintableText("-recrash-mode=" + process.mode));
  fmt::print("crashed  {}, pid {}\n", TimeText(process.crashed_at), process.pid);
  if (report.failure.kind == FailureKind::kSignal)
    fmt::print("signal   {}, code {}, address {:#x}\n", SignalName(report.failure.signal), report.failure.code,
               report.failure.address.value);
  fmt::print("\n");
}

// What the report itself says of the failure, without names from debug information.
nlohmann::ordered_json FailureJson(const Report& report) {
  const Failure& failure = report.failure;
  const Thread* thread = report.failing_thread();
  nlohmann::ordered_json json = {{"code", failure.code},
                                 {"pc", failure.pc.value},
                                 {"process", report.process.pid},
                                 {"thread", thread != nullptr ? thread->id : 0},
                                 {"message", failure.abort_message},
                                 {"exception", nullptr},
                                 {"reason", failure.reason}};
  if (failure.kind == FailureKind::kException)
    json["exception"] = {{"type", DemangleType(failure.exception_type)}, {"what", failure.exception_what}};
  return json;
}

nlohmann::ordered_json ToJson(const Crash& crash, const std::string& failure) {
  const Report& report = crash.report;
  nlohmann::ordered_json json = {{"report", crash.path.string()},
                                 {"failure", failure},
                                 {"program", report.process.program},
                                 {"version", report.process.version},
                                 {"signature", report.signature},
                                 {"mode", report.process.mode},
                                 {"time", report.process.crashed_at / 1'000'000'000},
                                 {"signal", report.failure.signal},
                                 {"address", report.failure.address.value},
                                 {"memory_complete", report.memory_complete},
                                 {"regions", report.memory.size()},
                                 {"threads", report.threads.size()},
                                 {"inputs", InputsJson(report)},
                                 {"program_notes", ProgramNotesJson(report)},
                                 {"logs", LogsJson(report, /*with_text=*/false)},
                                 {"snapshots", SnapshotsJson(report)},
                                 {"losses", report.losses}};
  json.update(FailureJson(report));
  json.update(CostJson(report, crash.bytes));
  json["frames"] = nlohmann::ordered_json::array();
  if (crash.no_backtrace) return json;
  for (const Frame& frame : crash.backtrace.frames) {
    nlohmann::ordered_json entry = FrameJson(frame);
    entry["candidate"] = frame.candidate;
    const EntryState* state = StateOf(report, frame);
    entry["entry_state"] = state != nullptr;
    entry["copied_depth"] = state ? state->copied_depth : 0;
    if (!frame.why_not.empty()) entry["why_not"] = frame.why_not;
    entry["parameters"] = nlohmann::ordered_json::array();
    for (const Parameter& parameter : frame.parameters)
      entry["parameters"].push_back({{"name", parameter.name},
                                     {"type", parameter.type.name},
                                     {"complete", parameter.complete},
                                     {"value", parameter.rendered},
                                     {"lines", parameter.lines}});
    json["frames"].push_back(entry);
  }
  json["other_threads"] = ThreadsJson(crash.backtrace.around);
  json["locks"] = crash.backtrace.around.locks;
  json["replaced"] = nullptr;
  if (const auto& replaced = crash.report.replaced)
    json["replaced"] = {{"type", DemangleType(replaced->type)}, {"what", replaced->what}};
  json["skipped"] = crash.backtrace.skipped;
  json["flipped_bits"] = crash.backtrace.flipped;
  json["changed_code"] = report.code.changed;
  json["notes"] = crash.backtrace.notes;
  return json;
}

}  // namespace

int ShowCommand(const ShowArguments& arguments) {
  const auto path = FindReport(arguments.report.report, arguments.report.program);
  if (!path) return Fail(path.error());
  const Result<Crash> crash = LoadReport(*path, arguments.report.symbols());
  if (!crash) return Fail(crash.error());
  if (!crash->no_backtrace) KeepChain(*crash);
  const Report& report = crash->report;
  const std::string failure = crash->no_backtrace ? FailureText(report) : FailureText(report, crash->backtrace);

  if (arguments.json != "-") {
    PrintHead(report, failure, crash->name);
    PrintThrown(crash->backtrace.around);
    PrintReplaced(report);
    PrintBacktrace(report, crash->backtrace);
    PrintAround(crash->backtrace.around);
    for (const std::string& flipped : crash->backtrace.flipped) fmt::print("hardware: {}\n", PrintableText(flipped));
    for (const std::string& note : crash->backtrace.notes) fmt::print("note: {}\n", PrintableText(note));
    PrintProgramNotes(report);
    // What the report says by itself is still worth showing.
    if (crash->no_backtrace) Note("no back-trace: " + crash->no_backtrace->message);
    PrintHoldings(report, crash->bytes);
  }
  const Status written = WriteJson(ToJson(*crash, failure), arguments.json);
  return written ? kSuccess : Fail(written.error());
}

}  // namespace recrash::cli
