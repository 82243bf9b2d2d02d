// Finds the functions of a module by name, in the symbol table of its file.
#ifndef RECRASH_AGENT_CLIENT_WATCH_SYMBOL_SCAN_H_
#define RECRASH_AGENT_CLIENT_WATCH_SYMBOL_SCAN_H_

#include <stdint.h>

namespace recrash::watch {

// `address`: in the file. `hash`: abi::HashLinkageName of the name.
using SymbolVisitor = void (*)(uint64_t address, uint64_t hash, void* argument);

enum class SymbolTable : uint8_t { kNone, kExported, kWhole };

// Visits each function that the file defines, by .symtab, or else by .dynsym, which has only exported ones.
SymbolTable VisitFunctions(int file, SymbolVisitor visitor, void* argument);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_SYMBOL_SCAN_H_
