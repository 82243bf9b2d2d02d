// The key by which a symbol of one build is found in another build of the same module: `name`, for locals `name@file`.
#ifndef RECRASH_AGENT_ELF_SYMBOL_KEY_H_
#define RECRASH_AGENT_ELF_SYMBOL_KEY_H_

#include <string>
#include <string_view>

namespace recrash {

// `file` is the text of the STT_FILE symbol before a local one.
inline std::string SymbolKey(std::string_view name, bool is_local, std::string_view file) {
  std::string key(name);
  if (is_local) key.append("@").append(file);
  return key;
}

inline bool IsKeyOfLocal(std::string_view key) { return key.find('@') != key.npos; }

inline std::string NameInKey(std::string_view key) { return std::string(key.substr(0, key.find('@'))); }

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_SYMBOL_KEY_H_
