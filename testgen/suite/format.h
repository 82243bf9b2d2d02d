// Formats what recrash writes as the project around it does.
#ifndef RECRASH_TESTGEN_SUITE_FORMAT_H_
#define RECRASH_TESTGEN_SUITE_FORMAT_H_

#include <filesystem>
#include <string>

namespace recrash {

// Returns the source, formatted by clang-format of PATH if there is a .clang-format in the folder or above it. The
// source itself if there is none, no clang-format, or if that fails.
std::string FormattedFor(const std::filesystem::path& folder, const std::string& source);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_FORMAT_H_
