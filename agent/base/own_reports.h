// Which reports were written on this machine by this user.
//
// The collector notes the SHA-256 of each report that it writes, in a file that only this user may write. A report that
// came from elsewhere is not in it, whatever it says of itself and wherever it lies.
#ifndef RECRASH_AGENT_BASE_OWN_REPORTS_H_
#define RECRASH_AGENT_BASE_OWN_REPORTS_H_

#include <string>
#include <string_view>

namespace recrash {

// `environment`: assignments of the program that failed, each ending with a NUL: they say where its user's home is.
// Where it cannot be noted (no home of this user's, a full disk), the report counts as one from elsewhere.
void NoteOwnReport(const std::string& path, std::string_view environment);
// The same, in the home that this process's environment names.
void NoteOwnReport(const std::string& path);

bool IsOwnReport(const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_OWN_REPORTS_H_
