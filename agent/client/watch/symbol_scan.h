// The functions of a module by name, from the symbol table of its file.
#ifndef RECRASH_AGENT_CLIENT_WATCH_SYMBOL_SCAN_H_
#define RECRASH_AGENT_CLIENT_WATCH_SYMBOL_SCAN_H_

#include <stdint.h>

namespace recrash::watch {

// `address` is the file's, `hash` abi::HashLinkageName of its name.
using SymbolVisitor = void (*)(uint64_t address, uint64_t hash, void* argument);

enum class SymbolTable : uint8_t { kNone, kExported, kWhole };

// Visits each function that the file defines: of .symtab, else of .dynsym, which has only what is exported.
SymbolTable VisitFunctions(int file, SymbolVisitor visitor, void* argument);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_SYMBOL_SCAN_H_
