#include "agent/client/record/testing_trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>

#include "agent/base/text.h"
#include "agent/process/memory_choice.h"
#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "agent/report/pages.h"
#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"

namespace recrash {
namespace {

void Install(std::span<sock_filter> filter) {
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(125);
}

void RefuseCall(uint32_t number) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  Install(filter);
}

// There is userfaultfd, which does not know the features that it is asked for.
void RefuseTracking() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(UFFDIO_API), 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  Install(filter);
}

void Refuse(const std::string& what) {
  if (what == "tracking") return RefuseTracking();
  if (what != "reads") RefuseCall(SYS_userfaultfd);
  if (what != "userfaultfd") RefuseCall(SYS_process_vm_readv);
  if (what == "copies") RefuseCall(SYS_pipe2);
}

pid_t StartProgram(const std::string& what, const std::map<std::string, std::string>& variables,
                   const std::string& folder, bool trace) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  const std::vector<char*> environment = ArgumentPointers(texts);
  const pid_t child = fork();
  if (child != 0) return child;
  const int output = open((folder + "/output").c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(3, ~0u, 0);
  alarm(300);  // a busy machine
  if (variables.contains("REFUSE")) Refuse(variables.at("REFUSE"));
  if (trace) ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  execle(RECRASH_TEST_ENTRIES, RECRASH_TEST_ENTRIES, what.c_str(), trace ? "traced" : "alone", nullptr,
         environment.data());
  _exit(126);
}

TracedEntry Take(pid_t pid, uint64_t sp) {
  TracedEntry entry;
  entry.sp = {sp};
  entry.mappings = ParseMaps(ReadProcFile(pid, "maps"));
  entry.files = ReadOpenFiles(pid);
  // What has grown since the last snapshot is not watched yet, and a mapping of its own.
  for (const Mapping& mapping : entry.mappings)
    if (mapping.path == "[heap]") entry.brk_end = mapping.end;
  const Result<TargetMemory> memory = TargetMemory::Open(pid);
  MemoryRequest request;
  request.limit = 1ull << 30;
  request.modules = ModulesFromMappings(entry.mappings, ReadProcLink(pid, "exe"));
  if (memory) entry.memory = KeepMemory(*memory, entry.mappings, request).regions;
  return entry;
}

// Until the program wants to go on alone, or ends.
void Follow(pid_t child, TracedRun* run) {
  waitpid(child, &run->status, 0);  // its exec
  int signal = 0;
  for (;;) {
    ptrace(PTRACE_CONT, child, nullptr, signal);
    if (waitpid(child, &run->status, 0) != child || !WIFSTOPPED(run->status)) return;
    signal = WSTOPSIG(run->status);
    if (signal != SIGTRAP) continue;
    signal = 0;
    user_regs_struct registers;
    ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    if (registers.rdi == 0) break;
    run->entries.push_back(Take(child, registers.rdi));
  }
  ptrace(PTRACE_DETACH, child, nullptr, nullptr);
  waitpid(child, &run->status, 0);
}

Contents ContentsOf(const std::vector<Region>& memory) {
  Contents pages;
  for (const Region& region : memory) {
    for (size_t at = 0; at + kPageSize <= region.bytes.size(); at += kPageSize)
      pages[region.address.value + at].assign(region.bytes.begin() + at, region.bytes.begin() + at + kPageSize);
  }
  return pages;
}

bool Covers(const std::vector<Mapping>& mappings, uint64_t page) {
  return std::ranges::any_of(mappings, [&](const Mapping& mapping) {
    return IsPrivateWritable(mapping) && mapping.start.value <= page && page < mapping.end.value;
  });
}

std::string NameAt(const std::vector<Mapping>& mappings, uint64_t address) {
  for (const Mapping& mapping : mappings)
    if (mapping.start.value <= address && address < mapping.end.value) return " in " + mapping.path;
  return "";
}

std::string Hex(uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

// What the kernel writes into a thread's control block whenever it goes on elsewhere: no state of the program's.
bool IsRestartableSequence(const Report& report, uint64_t address) {
  return std::ranges::any_of(report.threads, [&](const Thread& thread) {
    const uint64_t start = thread.registers.fs_base + static_cast<uint64_t>(__rseq_offset);
    return start <= address && address < start + 32;
  });
}

// Where the first byte differs; below the stack pointer of the entry, in its own page and those before it on the stack,
// there is nothing of the frame's.
std::string DifferenceIn(const Report& report, uint64_t page, const std::vector<uint8_t>& ours,
                         const std::vector<uint8_t>& theirs, uint64_t sp, uint64_t stack_start) {
  for (uint64_t i = 0; i < kPageSize; ++i) {
    const bool dead = page + i >= stack_start && page + i < sp;
    if (ours[i] != theirs[i] && !dead && !IsRestartableSequence(report, page + i))
      return Hex(page + i) + ": " + std::to_string(ours[i]) + ", traced " + std::to_string(theirs[i]);
  }
  return "";
}

void ReadReports(const std::string& folder, const std::string& suffix, std::vector<Report>* reports) {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder, none)) {
    if (file.path().extension() != suffix) continue;
    Result<Report> report = ReadReport(file.path());
    EXPECT_TRUE(report) << report.error().message;
    if (report) reports->push_back(*std::move(report));
  }
}

}  // namespace

TracedRun RunEntries(const std::string& what, std::map<std::string, std::string> variables, bool trace) {
  const TemporaryDirectory folder;
  variables.try_emplace("RECRASH_OPTIONS", "snapshot_cpu=100,snapshot_pause=10000");
  variables["LD_BIND_NOW"] = "1";  // the recorder's own calls must not be bound between the snapshot and the trace
  variables.try_emplace("RECRASH_COLLECTOR", RECRASH_TEST_COLLECTOR);
  variables["RECRASH_DIR"] = folder / "reports";
  TracedRun run;
  const pid_t child = StartProgram(what, variables, folder.path(), trace);
  if (trace)
    Follow(child, &run);
  else
    waitpid(child, &run.status, 0);
  std::ifstream output(folder / "output");
  run.output.assign(std::istreambuf_iterator<char>(output), {});
  for (const char* suffix : {".rcr", ".rcraw"}) ReadReports(folder / "reports", suffix, &run.reports);
  return run;
}

Contents MemoryAt(const Report& report, const EntryState& state) {
  Contents pages = ContentsOf(report.memory);
  for (auto& [page, bytes] : ContentsOf(JoinPages(PagesOf(report, state)))) pages[page] = std::move(bytes);
  return pages;
}

const EntryState* StateAt(const Report& report, TargetAddress sp) {
  const auto is_it = [sp](const EntryState& state) { return state.registers.sp == sp.value; };
  const auto found = std::ranges::find_if(report.snapshots->states, is_it);
  return found == report.snapshots->states.end() ? nullptr : &*found;
}

std::vector<std::string> Compare(const Report& report, const TracedEntry& traced) {
  const EntryState* snapshot = StateAt(report, traced.sp);
  if (!snapshot) return {"no snapshot at " + Hex(traced.sp.value)};
  const EntryState& state = *snapshot;
  const Contents ours = MemoryAt(report, state);
  const Contents theirs = ContentsOf(traced.memory);
  uint64_t stack_start = traced.sp.value;
  for (const Mapping& mapping : traced.mappings)
    if (mapping.start <= traced.sp && traced.sp < mapping.end) stack_start = mapping.start.value;

  std::vector<std::string> differences;
  const std::vector<uint8_t> zeros(kPageSize);
  for (const auto& [page, bytes] : theirs) {
    // The log itself is neither in the report nor gone.
    if (!Covers(report.mappings, page) && !Covers(state.mappings, page)) continue;
    const auto found = ours.find(page);
    const std::string difference =
        DifferenceIn(report, page, found == ours.end() ? zeros : found->second, bytes, traced.sp.value, stack_start);
    if (!difference.empty()) differences.push_back(difference + NameAt(traced.mappings, page));
  }
  for (const auto& [page, bytes] : ours) {
    if (theirs.contains(page) || !Covers(traced.mappings, page)) continue;
    const std::string difference = DifferenceIn(report, page, bytes, zeros, traced.sp.value, stack_start);
    if (!difference.empty()) differences.push_back(difference + " (not there)");
  }
  if (state.brk_end != traced.brk_end) differences.push_back("the break is " + Hex(state.brk_end.value));
  return differences;
}

}  // namespace recrash
