#include "agent/process/auxiliary.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "agent/base/fd.h"

namespace recrash {

uint64_t AuxiliaryValue(pid_t pid, uint64_t type) {
  const Fd file(open(("/proc/" + std::to_string(pid) + "/auxv").c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_auxv_t entry;
  while (read(file.get(), &entry, sizeof entry) == sizeof entry) {
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return 0;
}

}  // namespace recrash
