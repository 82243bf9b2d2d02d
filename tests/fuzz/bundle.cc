// A zip file: a bundle or not, with a report in it or not.
#include "agent/bundle/bundle.h"

#include <cstdlib>

#include "agent/bundle/zip_reader.h"
#include "tests/fuzz/fuzzed_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recrash;
  const std::string& path = FuzzedFile({data, size});
  (void)OpenReport(path);
  const Result<InputFile> file = InputFile::Open(path);
  if (!file) std::abort();
  const auto entries = ReadZipDirectory(*file);
  if (!entries) return 0;
  // Members lie apart: of deflate, no more than 1032 bytes come of one.
  uint64_t unpacked = 0;
  for (const ZipEntry& entry : *entries)
    if (const Result<InputFile> member = OpenZipEntry(*file, entry, 16 << 20)) unpacked += member->size();
  if (unpacked > size * 1032) std::abort();
  return 0;
}
