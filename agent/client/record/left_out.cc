#include "agent/client/record/left_out.h"

#include <stdlib.h>
#include <string.h>

namespace recrash::record {

bool LeftOut(const char* mechanism) {
  const char* name = getenv("RECRASH_SNAPSHOT_WITHOUT");
  return name != nullptr && strcmp(name, mechanism) == 0;
}

}  // namespace recrash::record
