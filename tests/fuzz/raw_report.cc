// A raw report.
#include "agent/report/reader.h"
#include "tests/fuzz/fuzzed_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string& path = recrash::FuzzedFile({data, size});
  (void)recrash::ReadMetadata(path);
  (void)recrash::ReadReport(path, {.memory = 64 << 20});
  return 0;
}
