// Names and bases of C++ types, read from std::type_info as data by the layouts of the Itanium C++ ABI. So nothing of a
// C++ runtime is called or linked, and libstdc++ and libc++ are the same.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/client/client.h"

// The vtables whose second slot on a class's type_info begins with. Absent from C programs.
extern "C" {
__attribute__((weak)) extern const void* const _ZTVN10__cxxabiv120__si_class_type_infoE[];
__attribute__((weak)) extern const void* const _ZTVN10__cxxabiv121__vmi_class_type_infoE[];
}

namespace recrash::client {
namespace {

struct TypeInfo {
  const void* const* vtable;
  const char* name;
};

struct SingleBase : TypeInfo {
  const TypeInfo* base;
};

struct Base {
  const TypeInfo* type;
  intptr_t offset_flags;  // bit 0 virtual, bit 1 public, offset from bit 8
};

struct ManyBases : TypeInfo {
  uint32_t flags;
  uint32_t count;
  Base bases[1];
};

// Returns the std::exception within the object, or null. A depth of bases that no program has ends the walk. Of a
// library built with another C++ runtime the vtables have other addresses: then the class has no known bases.
void* FindException(const TypeInfo* type, void* object, int depth) {
  if (depth > 64) return nullptr;
  if (strcmp(TypeName(type), "St9exception") == 0) return object;
  if (type->vtable == _ZTVN10__cxxabiv120__si_class_type_infoE + 2)
    return FindException(static_cast<const SingleBase*>(type)->base, object, depth + 1);
  if (type->vtable != _ZTVN10__cxxabiv121__vmi_class_type_infoE + 2) return nullptr;
  const auto* many = static_cast<const ManyBases*>(type);
  for (uint32_t i = 0; i < many->count; ++i) {
    const intptr_t flags = many->bases[i].offset_flags;
    if ((flags & 2) == 0) continue;
    intptr_t offset = flags >> 8;
    if ((flags & 1) != 0) {
      // A virtual base: the offset is that of a word in the object's vtable.
      const char* vtable = *static_cast<const char* const*>(object);
      memcpy(&offset, vtable + offset, sizeof offset);
    }
    if (void* found = FindException(many->bases[i].type, static_cast<char*>(object) + offset, depth + 1)) return found;
  }
  return nullptr;
}

}  // namespace

const char* TypeName(const void* type) {
  const char* name = static_cast<const TypeInfo*>(type)->name;
  return *name == '*' ? name + 1 : name;  // marks a name that is compared by address
}

const char* WhatOf(const void* type, void* object) {
  void* exception = FindException(static_cast<const TypeInfo*>(type), object, 0);
  if (exception == nullptr) return nullptr;
  // std::exception's vtable: two destructors, what().
  using What = const char* (*)(const void*);
  const auto* vtable = *static_cast<void* const* const*>(exception);
  What what;
  memcpy(&what, vtable + 2, sizeof what);
  return what(exception);
}

}  // namespace recrash::client
