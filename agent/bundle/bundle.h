// A report on disk: a file of its own, or a member of a bundle, which is the .zip that `recrash bundle` makes.
//
//   const Result<InputFile> report = OpenReport("app-20261118-110640-42.zip");      // or .rcr, or .rcraw
//   const Result<InputFile> minidump = OpenMinidump("app-20261118-110640-42.zip");  // kMissing: it has none
//
// A bundle has one report, at most one minidump, perhaps a README.md, and nothing else. No member is unpacked to disk.
#ifndef RECRASH_AGENT_BUNDLE_BUNDLE_H_
#define RECRASH_AGENT_BUNDLE_BUNDLE_H_

#include <cstdint>
#include <string>

#include "agent/base/file_io.h"
#include "agent/base/result.h"

namespace recrash {

constexpr uint64_t kMostInBundle = uint64_t{256} << 20;  // bytes of a member, unpacked
constexpr char kBundleReadMe[] = "README.md";

// Of the file itself, whatever it is, if it is no zip file. kDamaged: a zip file that is no bundle.
Result<InputFile> OpenReport(const std::string& path);

// Of the bundle; or NAME.dmp beside the report NAME.rcr. kMissing: there is none.
Result<InputFile> OpenMinidump(const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_BUNDLE_BUNDLE_H_
