// Where reports are kept on this machine.
#ifndef RECRASH_AGENT_BASE_REPORT_STORE_H_
#define RECRASH_AGENT_BASE_REPORT_STORE_H_

#include <filesystem>

namespace recrash {

// $RECRASH_DIR, else $XDG_STATE_HOME/recrash, else ~/.local/state/recrash. It need not exist.
std::filesystem::path StoreDirectory();

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_REPORT_STORE_H_
