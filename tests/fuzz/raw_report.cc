// A raw report.
#include "agent/report/reader.h"
#include "tests/fuzz/fuzzed_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)recrash::ReadReport(recrash::FuzzedFile({data, size}), {.memory = 64 << 20});
  return 0;
}
