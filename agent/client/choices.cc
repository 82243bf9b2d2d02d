// What the program says about the memory that its reports may hold (recrash.h). In normal context.
#include "agent/client/client.h"

extern "C" __attribute__((visibility("default"))) void __recrash_keep_memory(int keep) {
  recrash::client::g_progress.keeps_memory = keep != 0 ? 1 : 0;
}
