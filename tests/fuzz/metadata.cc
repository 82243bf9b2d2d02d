// The records of a report. The first byte says which, and of which version.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "agent/report/archive.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recrash;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const uint32_t version = 1 + data[0] / 3 % format::kVersion;
  switch (data[0] % 3) {
    case 0:
      // What was read is what is written again.
      if (Report report; DecodeMetadata(bytes, version, &report)) {
        const Result<std::vector<uint8_t>> again = EncodeMetadata(report, version);
        if (!again || !std::equal(again->begin(), again->end(), bytes.begin(), bytes.end())) std::abort();
      }
      break;
    case 1: {
      ReplayData replay;
      (void)DecodeReplay(bytes, version, &replay);
      break;
    }
    default: {
      SnapshotLog snapshots;
      (void)DecodeSnapshots(bytes, version, &snapshots);
    }
  }
  return 0;
}
