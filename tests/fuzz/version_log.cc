// A version log with four frames and their pages. Each ten bytes of the input are a place in it and a word that the
// program has written there before it died.
#include <cstring>

#include "agent/collector/testing_log.h"

namespace recrash {
namespace {

class OverwrittenLog : public LoggedProgram {
 public:
  OverwrittenLog() : LoggedProgram(16, 4, 2) {
    for (uint64_t number = 1; number <= 4; ++number) {
      for (uint64_t page = 0; page < 4; ++page)
        log().Save(kHeap + page * kPageSize, number, std::vector<uint8_t>(kPageSize, number * 16 + page).data());
      AddFrame(number, kStack + 5064 - number * 8);
    }
    const record::LogHeader& header = log().header();
    places_ = {0, header.frames, header.pages, header.versions, header.map_lists, header.file_lists};
  }

  // The place: which part of the log, and which word in it.
  void Write(uint16_t place, uint64_t word) {
    const uint64_t at = places_[place % places_.size()] + uint64_t{place} / places_.size() * sizeof word;
    if (at + sizeof word <= log_bytes().size()) std::memcpy(log_bytes().data() + at, &word, sizeof word);
  }

 private:
  std::vector<uint64_t> places_;
};

}  // namespace
}  // namespace recrash

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  recrash::OverwrittenLog program;
  uint16_t place;
  uint64_t word;
  for (; size >= sizeof place + sizeof word; data += sizeof place + sizeof word, size -= sizeof place + sizeof word) {
    std::memcpy(&place, data, sizeof place);
    std::memcpy(&word, data + sizeof place, sizeof word);
    program.Write(place, word);
  }
  (void)program.Collected();
  return 0;
}
