// recrash show --save DIR: the files that a report holds, as files.
#ifndef RECRASH_INTEGRATIONS_CLI_SAVE_H_
#define RECRASH_INTEGRATIONS_CLI_SAVE_H_

#include <string>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash::cli {

// The name under which the `number`th file of a report is saved: "2-settings.ini" of "/etc/app/settings.ini". Whatever
// the report says, it is one plain name of letters, digits, `-`, `_`, `+` and `.`.
std::string SavedName(size_t number, const std::string& path);

// Writes inputs that are held, attached files among them, and logs into `folder`, which must not be there yet. Prints
// what each file was.
Status SaveHoldings(const Report& report, const std::string& folder);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_SAVE_H_
