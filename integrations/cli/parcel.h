// What goes to other people with a crash, and what they will find in it.
#ifndef RECRASH_INTEGRATIONS_CLI_PARCEL_H_
#define RECRASH_INTEGRATIONS_CLI_PARCEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "integrations/cli/commands.h"
#include "testgen/suite/load.h"

namespace recrash::cli {

struct Parcel {
  Crash crash;
  std::string report_name;  // of the files, harmless everywhere
  std::string minidump_name;
  std::vector<uint8_t> report;    // the files, byte by byte as they are; empty where it does not go
  std::vector<uint8_t> minidump;  // may be empty, and then:
  std::string no_minidump;        // why, as in "no minidump: there is none beside the report"
};

// A minidump that may be of another crash, or that has what was taken out of the report, is left out.
Result<Parcel> MakeParcel(const ReportArguments& arguments, bool with_minidump);

// Lines that list what is in it and how to see that. `report`: how the user names the report.
std::vector<std::string> ContentsOf(const Parcel& parcel, const std::string& report);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_PARCEL_H_
