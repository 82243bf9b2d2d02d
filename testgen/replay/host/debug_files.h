// Debug files for a debugger: it knows no search paths of ours.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_DEBUG_FILES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_DEBUG_FILES_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/replay/host/subject.h"

namespace recrash {

// Of the program and its own libraries, as they are loaded now, those whose debug information lies in a file under the
// search paths: "BUILD-ID PATH". The scripts of integrations/debugger read them.
std::vector<std::string> FindDebugFiles(const TestReport& report, const Subject& subject,
                                        const std::vector<std::string>& search_paths);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_DEBUG_FILES_H_
