// Mangled type names as people read them, for the one line that the client prints.
#ifndef RECRASH_AGENT_CLIENT_TYPE_NAME_H_
#define RECRASH_AGENT_CLIENT_TYPE_NAME_H_

#include "agent/base/signal_safe/text.h"

namespace recrash::client {

// Knows plain classes, nested or not, and the commonest scalars; anything else (templates, local classes) stays
// mangled. The runtime's demangler allocates, which the crash path must not.
RECRASH_SIGNAL_SAFE void PutTypeName(signal_safe::Text& out, const char* mangled);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_TYPE_NAME_H_
