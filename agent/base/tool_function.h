// Tells whether a function or a variable in a user's program is recrash's own, the compiler's, or of a sanitizer's
// runtime. Such a function is never the place of a failure, and gets no test.
//
//   IsToolFunction("_ZN7recrash6record10VersionLog3AddE…")  // true
//   IsToolFunction("_ZN4Tree6InsertEi")                     // false
#ifndef RECRASH_AGENT_BASE_TOOL_FUNCTION_H_
#define RECRASH_AGENT_BASE_TOOL_FUNCTION_H_

#include <string_view>

namespace recrash {

// `name` is the linkage name. The namespaces are those of all that has ever been linked into programs, since reports of
// old builds are read too: `snapshot` was the name of `record` and of a part of `signal_safe`.
inline bool IsToolFunction(std::string_view name) {
  for (const std::string_view prefix :
       {"__recrash_", "recrash_on_entry", "recrash_entry_trampoline", "RecrashReportWithRegisters", "RecrashNoteThrow",
        "__clang_call_terminate", "__asan_", "__ubsan_", "__sanitizer_", "__interceptor_", "___interceptor_"})
    if (name.starts_with(prefix)) return true;
  // _ZN, _ZNK of a const member, _ZZN of what is local to a function.
  for (const char mark : {'_', 'Z', 'Z'})
    if (name.starts_with(mark)) name.remove_prefix(1);
  // Static functions of UBSan lie in no namespace. What they are given does.
  if (name.starts_with('L') && name.find("N7__ubsan") != name.npos) return true;
  if (!name.starts_with('N')) return false;
  name.remove_prefix(name.starts_with("NK") ? 2 : 1);
  for (const std::string_view space :
       {"15google_breakpad", "7recrash6client", "7recrash5watch", "7recrash6record", "7recrash11signal_safe",
        "7recrash8snapshot", "6__asan", "7__ubsan", "11__sanitizer", "14__interception"})
    if (name.starts_with(space)) return true;
  return false;
}

// The same of a variable, by its name as people read it: "recrash::client::g_record".
inline bool IsToolVariable(std::string_view name) {
  for (const std::string_view prefix :
       {"__recrash_", "recrash_client_", "recrash_xsave_",
        "google_breakpad::", "recrash::client::", "recrash::watch::", "recrash::record::", "recrash::signal_safe::"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// The same of a function or a variable, by its symbol.
inline bool IsToolSymbol(std::string_view name) { return IsToolFunction(name) || IsToolVariable(name); }

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_TOOL_FUNCTION_H_
