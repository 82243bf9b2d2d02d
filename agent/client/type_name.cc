#include <string.h>

#include "agent/client/client.h"

namespace recrash::client {
namespace {

using signal_safe::ReadNumber;
using signal_safe::Text;

RECRASH_SIGNAL_SAFE const char* Scalar(char mangled) {
  static const struct {
    char mangled;
    const char* name;
  } kScalars[] = {{'i', "int"},  {'j', "unsigned int"}, {'l', "long"},  {'m', "unsigned long"},
                  {'c', "char"}, {'b', "bool"},         {'d', "double"}};
  for (const auto& scalar : kScalars)
    if (scalar.mangled == mangled) return scalar.name;
  return nullptr;
}

// Length and name, as in 13runtime_error, of at most 255 characters; false when something else comes.
RECRASH_SIGNAL_SAFE bool TakeName(const char*& text, char (&name)[256]) {
  const uint64_t length = ReadNumber(text, 10);
  if (length == 0 || length >= sizeof name || strnlen(text, length) < length) return false;
  memcpy(name, text, length);
  name[length] = 0;
  text += length;
  return true;
}

// Calls `use` with each part of St<name>, <name> or N…E; false when the text is anything else.
template <typename Use>
RECRASH_SIGNAL_SAFE bool ForEachPart(const char* text, Use use) {
  const bool nested = *text == 'N';
  if (nested) ++text;
  if (text[0] == 'S' && text[1] == 't') {
    use("std");
    text += 2;
  }
  char name[256];
  do {
    if (!TakeName(text, name)) return false;
    use(strncmp(name, "_GLOBAL__N_", 11) == 0 ? "(anonymous namespace)" : name);
  } while (nested && *text != 'E');
  if (nested) ++text;
  return *text == 0;
}

}  // namespace

void PutTypeName(Text& out, const char* mangled) {
  if (mangled[0] != 0 && mangled[1] == 0 && Scalar(mangled[0]) != nullptr) {
    out << Scalar(mangled[0]);
    return;
  }
  if (!ForEachPart(mangled, [](const char*) {})) {
    out << mangled;
    return;
  }
  bool first = true;
  ForEachPart(mangled, [&](const char* part) {
    out << (first ? "" : "::") << part;
    first = false;
  });
}

}  // namespace recrash::client
