// Which reports are of the same crash, as far as the machine can tell that wrote them: it has no symbols.
//
//   report.signature = SignatureOf(report);
#ifndef RECRASH_AGENT_STORE_SIGNATURE_H_
#define RECRASH_AGENT_STORE_SIGNATURE_H_

#include <string>

#include "agent/report/report.h"
#include "agent/store/stack_walk.h"

namespace recrash {

// 32 hexadecimal digits that stand for the kind of the failure and the innermost sixteen places of its stack, each by
// build-id and offset. So the same crash of the same build has the same signature in each process, however its modules
// lie. Another build, of the program or of a library on the stack, has another one: the desk, which has the source,
// compares chains (chain_file.h).
//
// Empty where too little of the stack is known to tell crashes apart: all that end in abort() would be one. `elsewhere`
// has what is not in the report's memory.
std::string SignatureOf(const Report& report, const ReadStackWord& elsewhere = {});

// The same of a stack that was walked: WalkStack(report, kPlacesOfSignature, ...).
constexpr size_t kPlacesOfSignature = 16;
std::string SignatureOf(const Report& report, const WalkedStack& stack);

}  // namespace recrash

#endif  // RECRASH_AGENT_STORE_SIGNATURE_H_
