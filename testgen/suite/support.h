// Where the parts of the installation lie, relative to the command itself, so that the prefix can be moved.
#ifndef RECRASH_TESTGEN_SUITE_SUPPORT_H_
#define RECRASH_TESTGEN_SUITE_SUPPORT_H_

#include <filesystem>

#include "agent/base/installation.h"
#include "agent/base/result.h"

namespace recrash {

// The folder that has bin, lib, include and share.
std::filesystem::path Prefix();

// A file of lib/recrash; kMissing with the way out when it is not there.
Result<std::filesystem::path> SupportFile(const char* name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_SUPPORT_H_
