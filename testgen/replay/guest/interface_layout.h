// recrash::ReplayInterface of <recrash/test.h>, for the side that implements it.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_INTERFACE_LAYOUT_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_INTERFACE_LAYOUT_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::replay {

struct ReplayInterface {
  uint32_t version;
  bool (*has_frame)(uint32_t frame);
  bool (*load)(uint32_t frame, uint32_t number, void* out, size_t size);
  bool (*store)(uint32_t frame, uint32_t number, const void* bytes, size_t size);
  uint32_t (*call)(uint32_t frame, uint32_t depth, char* text, size_t text_size);
  const char* (*failure_text)();
  bool expect_failure;
  const char* (*frame_name)(uint32_t frame);
  const char* (*report_path)();
  bool (*rewind)(uint32_t frame, uint32_t number);
};

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_INTERFACE_LAYOUT_H_
