#include "agent/report/crash_record.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "agent/base/signal_safe/register_order.h"
#include "agent/report/maps.h"

namespace recrash {
namespace {

Registers AtFailure(const abi::CrashRecord& record, uint64_t fs_base) {
  Registers registers;
  const greg_t* gregs = record.context.uc_mcontext.gregs;
  std::ranges::transform(kContextRegisters, registers.dwarf.begin(), [&](int index) { return gregs[index]; });
  registers.fs_base = fs_base;
  registers.eflags = static_cast<uint64_t>(gregs[REG_EFL]);
  registers.fxsave.assign(std::begin(record.fpstate), std::end(record.fpstate));
  return registers;
}

Failure MakeFailure(const abi::CrashRecord& record, std::string abort_message) {
  Failure failure;
  failure.kind = static_cast<FailureKind>(record.kind);
  failure.signal = record.siginfo.si_signo;
  failure.code = record.siginfo.si_code;
  // For a signal that a process sent the address field holds the sender.
  if (record.siginfo.si_code > 0) failure.address = {reinterpret_cast<uint64_t>(record.siginfo.si_addr)};
  failure.pc = {static_cast<uint64_t>(record.context.uc_mcontext.gregs[REG_RIP])};
  if (abort_message.ends_with('\n')) abort_message.pop_back();
  if (failure.signal == SIGABRT) failure.abort_message = std::move(abort_message);
  failure.reason = TextOf(record.reason);
  return failure;
}

// Notes of several kinds are there when objects were built with different options; one that names a version wins.
void TakeBuildNotes(const std::vector<BuildNote>& notes, Process* process) {
  for (const BuildNote& note : notes) {
    if (process->mode.empty()) process->mode = note.mode;
    if (process->version.empty() && !note.version.empty()) {
      process->version = note.version;
      process->mode = note.mode;
    }
  }
}

void TakeWithheld(uint8_t without_memory, Report* report) {
  if (without_memory != 0) {
    Withhold({0}, {UINT64_MAX}, &report->mappings);
    report->losses.push_back(
        without_memory == abi::kCannotMask
            ? "all memory: not all values that the program marks as sensitive could be masked in it"
            : "all memory: the program excludes itself from core dumps (PR_SET_DUMPABLE), and has not asked for its "
              "memory to be kept (RECRASH_KEEP_MEMORY)");
  } else if (const uint64_t bytes = WithheldBytes(report->mappings); bytes != 0) {
    report->losses.push_back(std::to_string(bytes >> 10) +
                             " KiB of memory that the program excludes from core dumps (MADV_DONTDUMP)");
  }
}

void SayWhatProcHides(const CrashTexts& texts, Report* report) {
  const std::pair<const char*, bool> all[] = {{"its program", texts.executable.empty()},
                                              {"its working directory", texts.directory.empty()},
                                              {"its command line", texts.command_line.empty()},
                                              {"where its heap begins", report->process.brk_start.value == 0},
                                              {"its mappings", report->mappings.empty()}};
  std::string hidden;
  for (const auto& [what, is_hidden] : all)
    if (is_hidden) hidden += (hidden.empty() ? "" : ", ") + std::string(what);
  if (!hidden.empty()) report->losses.push_back("what /proc did not tell of the process: " + hidden);
}

std::optional<ThrownStack> StackOf(const abi::ThrowRecord& thrown, std::vector<uint8_t> stack, const Report& report) {
  if (thrown.armed == 0 || stack.empty() || thrown.stack_address > UINT64_MAX - stack.size()) return std::nullopt;
  ThrownStack taken;
  std::ranges::copy(thrown.registers, taken.registers.dwarf.begin());
  if (const Thread* thread = report.failing_thread()) taken.registers.fs_base = thread->registers.fs_base;
  taken.address = {thrown.stack_address};
  taken.bytes = std::move(stack);
  return taken;
}

std::string ValueOf(const abi::Addition& addition, size_t key_size) {
  const size_t at = std::min(key_size + 1, abi::kAdditionText);
  return std::string(addition.text + at, strnlen(addition.text + at, abi::kAdditionText - at));
}

std::string LostText(abi::AdditionKind kind) {
  const std::string most = std::to_string(abi::kMostOf[static_cast<uint32_t>(kind)]);
  switch (kind) {
    case abi::AdditionKind::kNote:
      return "notes of the program: there may be " + most;
    case abi::AdditionKind::kAttachment:
      return "attached files: there may be " + most + ", with paths of up to " + std::to_string(abi::kMostPath) +
             " characters";
    case abi::AdditionKind::kLog:
      break;
  }
  return "logs of the program: there may be " + most + ", with paths of up to " + std::to_string(abi::kMostPath) +
         " characters";
}

}  // namespace

bool IsOfThisVersion(const abi::CrashRecord& record) {
  return record.magic == abi::kCrashMagic &&
         (record.version == abi::kCrashVersion || record.version == abi::kDiscreetVersion) &&
         record.size == sizeof record;
}

void TakeRecord(const abi::CrashRecord& record, const CrashTexts& texts, Report* report) {
  Process& process = report->process;
  process.pid = record.pid;
  process.program = texts.executable;
  process.working_directory = texts.directory;
  process.arguments = SplitArguments(texts.command_line);
  process.options = TextOf(record.options);
  process.brk_start = {BrkStart(texts.stat)};
  const auto heap = std::ranges::find(report->mappings, "[heap]", &Mapping::path);
  if (process.brk_start.value == 0 && heap != report->mappings.end()) process.brk_start = heap->start;
  report->failure = MakeFailure(record, texts.abort_message);
  for (Thread& thread : report->threads) {
    if (thread.id != record.tid) continue;
    thread.failing = true;
    thread.registers = AtFailure(record, thread.registers.fs_base);
  }
  SayWhatProcHides(texts, report);
  TakeWithheld(record.without_memory, report);
}

void TakeThrow(const abi::ThrowRecord& thrown, std::vector<uint8_t> stack, Report* report) {
  if (report->failure.kind != FailureKind::kException) return;
  report->failure.exception_type = TextOf(thrown.type);
  report->failure.exception_what = TextOf(thrown.what);
  report->thrown = StackOf(thrown, std::move(stack), *report);
  const Mapping* place = report->FindMapping({thrown.stack_address});
  const bool is_withheld = place != nullptr && (place->flags & kMapWithheld) != 0;
  if (!report->thrown && !is_withheld)
    report->losses.push_back("the stack at the throw of the exception: it was not copied, or could not be read");
}

void TakeReplaced(const abi::ThrowRecord& thrown, std::vector<uint8_t> stack, Report* report) {
  if (report->failure.kind != FailureKind::kException) return;
  std::optional<ThrownStack> taken = StackOf(thrown, std::move(stack), *report);
  if (taken) report->replaced = {TextOf(thrown.type), TextOf(thrown.what), *std::move(taken)};
}

void LeaveOutAdditions(TargetAddress table, std::vector<Mapping>* mappings) {
  std::erase_if(*mappings, [&](const Mapping& mapping) {
    return table.value != 0 && mapping.start == table && mapping.end - table < 2 * sizeof(abi::Additions);
  });
}

NamedFiles TakeAdditions(const abi::Additions& head, std::vector<abi::Addition> additions, Report* report) {
  std::ranges::sort(additions, {}, &abi::Addition::number);
  std::map<std::string, Note> notes;
  NamedFiles files;
  for (const abi::Addition& addition : additions) {
    const std::string name = TextOf(addition.text);
    if (addition.kind == abi::AdditionKind::kNote) {
      notes[name] = {name, ValueOf(addition, name.size()), addition.cut != 0};
      continue;
    }
    std::vector<std::string>& paths = addition.kind == abi::AdditionKind::kLog ? files.logs : files.attachments;
    std::erase(paths, name);
    if (name.starts_with('/')) paths.push_back(name);
  }
  for (const Note& note : notes | std::views::values) report->notes.push_back(note);
  for (uint32_t kind = 0; kind < abi::kAdditionKinds; ++kind)
    if (head.lost[kind] != 0) report->losses.push_back(LostText(static_cast<abi::AdditionKind>(kind)));
  if (head.answer != abi::Answer::kGiven)
    report->losses.push_back(std::string("the answer of the program's callback (RECRASH_BEFORE_REPORT): it ") +
                             (head.answer == abi::Answer::kTimedOut ? "took too long" : "failed itself"));
  return files;
}

void TakeModules(const ElfLookup& lookup, Report* report) {
  std::set<TargetAddress> unread;
  report->modules =
      ModulesFromMappings(report->mappings, report->process.program, [&](const Mapping& first) -> Result<ElfFacts> {
        Result<ElfFacts> facts = lookup(first);
        if (facts && first.path == report->process.program) TakeBuildNotes(facts->notes, &report->process);
        if (!facts) unread.insert(first.start);
        return facts;
      });
  for (const Module& module : report->modules)
    if (unread.contains(module.base))
      report->losses.push_back("build-id and extent of " + module.path + ": its file could not be read");
}

void JoinLosses(std::vector<std::string>* losses) {
  std::map<std::string, size_t> counts;
  for (const std::string& loss : *losses) ++counts[loss];
  std::vector<std::string> joined;
  for (std::string& loss : *losses) {
    const size_t count = std::exchange(counts[loss], 0);
    if (count != 0) joined.push_back(count == 1 ? std::move(loss) : loss + " (" + std::to_string(count) + " times)");
  }
  *losses = std::move(joined);
}

std::vector<std::string> SplitArguments(std::string_view command_line) {
  std::vector<std::string> arguments;
  while (!command_line.empty()) {
    const size_t end = std::min(command_line.find('\0'), command_line.size());
    arguments.emplace_back(command_line.substr(0, end));
    command_line.remove_prefix(std::min(command_line.size(), end + 1));
  }
  return arguments;
}

uint64_t BrkStart(std::string_view stat) {
  // The second field is the program's name in parentheses, which may hold spaces and parentheses itself.
  const size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return 0;
  stat.remove_prefix(name_end + 1);
  for (int field = 3; field <= 47; ++field) {
    stat.remove_prefix(std::min(stat.find_first_not_of(' '), stat.size()));
    if (field < 47) stat.remove_prefix(std::min(stat.find(' '), stat.size()));
  }
  uint64_t address = 0;
  std::from_chars(stat.data(), stat.data() + stat.size(), address);
  return address;
}

}  // namespace recrash
