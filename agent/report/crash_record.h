// What a client says of a failure, as a report says it: the one path from abi::CrashRecord, whether the collector found
// it in the dying process or raw_reader in a file.
//
//   report.mappings = ...; report.threads = ...;
//   TakeRecord(record, texts, &report);
//   TakeThrow(thrown, stack, &report);
//   TakeModules(LookupFiles(), &report);
#ifndef RECRASH_AGENT_REPORT_CRASH_RECORD_H_
#define RECRASH_AGENT_REPORT_CRASH_RECORD_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "agent/report/modules.h"
#include "agent/report/report.h"
#include "shadowstack/abi.h"
#include "shadowstack/additions.h"

namespace recrash {

// What /proc/PID and the C library say of the process; empty where they could not be read.
struct CrashTexts {
  std::string executable;     // exe
  std::string directory;      // cwd
  std::string command_line;   // cmdline
  std::string stat;           // stat
  std::string abort_message;  // glibc's __abort_msg
};

// Whether its magic, version and size are those that this build writes.
bool IsOfThisVersion(const abi::CrashRecord& record);

// Fills `failure`, and `process` but for brk_end, stack_limit and the times. Thread record.tid of `threads` becomes the
// failing one, with the registers of the failure; only its fs_base stays. Texts that are not there are losses.
void TakeRecord(const abi::CrashRecord& record, const CrashTexts& texts, Report* report);

// The exception that ended the program, and the stack as it was at the throw. Nothing for another kind of failure.
void TakeThrow(const abi::ThrowRecord& thrown, std::vector<uint8_t> stack, Report* report);
// Of the exception that was replaced by it.
void TakeReplaced(const abi::ThrowRecord& thrown, std::vector<uint8_t> stack, Report* report);

// What the program has added, out of complete slots of its table in any order; of a name the newest counts. Notes
// become the report's. What did not fit is said in its losses.
struct NamedFiles {
  std::vector<std::string> attachments;  // absolute paths, in the order in which they were named
  std::vector<std::string> logs;
};
// The loss where there is no table of them.
constexpr char kNoAdditions[] = "what the program notes, and names of files: there was no memory for their table";
// The pages of the table are the agent's: they are neither memory of the program nor withheld from it.
void LeaveOutAdditions(TargetAddress table, std::vector<Mapping>* mappings);
NamedFiles TakeAdditions(const abi::Additions& head, std::vector<abi::Addition> additions, Report* report);

// Fills `modules`, and takes mode and version of the build from the program's notes. Says in the losses which modules
// are known by their mappings alone.
void TakeModules(const ElfLookup& lookup, Report* report);

// A loss that is there several times becomes one sentence with a count.
void JoinLosses(std::vector<std::string>* losses);

// The text of an array that has a NUL, or is full.
template <size_t N>
std::string TextOf(const char (&array)[N]) {
  return std::string(array, strnlen(array, N));
}

// Each argument is ended by a NUL.
std::vector<std::string> SplitArguments(std::string_view command_line);
// start_brk, the 47th field of /proc/PID/stat; 0 when it is not there.
uint64_t BrkStart(std::string_view stat);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_CRASH_RECORD_H_
