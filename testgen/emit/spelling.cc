#include "testgen/emit/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "testgen/emit/names.h"

namespace recrash {
namespace {

using Path = std::vector<std::string>;

struct Builtin {
  std::string_view name;  // as compilers write it into DWARF
  std::string_view spelling;
  uint64_t size;
};

constexpr Builtin kBuiltins[] = {
    {"bool", "bool", 1},
    {"char", "char", 1},
    {"signed char", "signed char", 1},
    {"unsigned char", "unsigned char", 1},
    {"wchar_t", "wchar_t", 4},
    {"char16_t", "char16_t", 2},
    {"char32_t", "char32_t", 4},
    {"short", "short", 2},
    {"short int", "short", 2},
    {"unsigned short", "unsigned short", 2},
    {"short unsigned int", "unsigned short", 2},
    {"int", "int", 4},
    {"unsigned", "unsigned", 4},
    {"unsigned int", "unsigned", 4},
    {"long", "long", 8},
    {"long int", "long", 8},
    {"unsigned long", "unsigned long", 8},
    {"long unsigned int", "unsigned long", 8},
    {"long long", "long long", 8},
    {"long long int", "long long", 8},
    {"unsigned long long", "unsigned long long", 8},
    {"long long unsigned int", "unsigned long long", 8},
    {"float", "float", 4},
    {"double", "double", 8},
    {"long double", "long double", 16},
    {"__int128", "__int128", 16},
    {"unsigned __int128", "unsigned __int128", 16},
    {"__int128 unsigned", "unsigned __int128", 16},
    {"size_t", "std::size_t", 8},
    {"ptrdiff_t", "std::ptrdiff_t", 8},
    {"int8_t", "std::int8_t", 1},
    {"int16_t", "std::int16_t", 2},
    {"int32_t", "std::int32_t", 4},
    {"int64_t", "std::int64_t", 8},
    {"intptr_t", "std::intptr_t", 8},
    {"uint8_t", "std::uint8_t", 1},
    {"uint16_t", "std::uint16_t", 2},
    {"uint32_t", "std::uint32_t", 4},
    {"uint64_t", "std::uint64_t", 8},
    {"uintptr_t", "std::uintptr_t", 8},
};

struct BareName {
  std::string name;
  bool is_const = false;
};

// Without qualifiers at either end and without the class key.
BareName Bare(std::string_view text) {
  BareName bare;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string_view word : {"const", "volatile", "restrict", "struct", "class", "union", "enum"}) {
      const std::string front = fmt::format("{} ", word), back = fmt::format(" {}", word);
      if (text.starts_with(front)) {
        text.remove_prefix(front.size());
      } else if (text.ends_with(back)) {
        text.remove_suffix(back.size());
      } else {
        continue;
      }
      bare.is_const |= word == "const";
      changed = true;
    }
    while (text.starts_with(' ')) text.remove_prefix(1), changed = true;
    while (text.ends_with(' ')) text.remove_suffix(1), changed = true;
  }
  bare.name = text;
  return bare;
}

const Builtin* FindBuiltin(std::string_view name) {
  if (name.starts_with("std::")) name.remove_prefix(5);
  const auto* found = std::ranges::find(kBuiltins, name, &Builtin::name);
  return found == std::end(kBuiltins) ? nullptr : found;
}

// Names that are typedefs in headers of the C library, which the generated file includes: no class can have them.
bool IsTypedefName(const std::string& name) {
  static const std::set<std::string> kNames = {"FILE", "DIR",   "u_char",  "u_short", "u_int",   "u_long", "ushort",
                                               "uint", "ulong", "va_list", "fd_set",  "fd_mask", "stack_t"};
  return name.ends_with("_t") || kNames.contains(name);
}

constexpr std::string_view kAnonymous = "(anonymous namespace)";

// The components of a plain qualified name; empty for templates, local classes, lambdas, anything else.
Path SplitName(std::string_view name) {
  Path path;
  for (;;) {
    const size_t colons = name.find("::");
    const std::string_view part = name.substr(0, colons);
    const bool last = colons == std::string_view::npos;
    if (part == kAnonymous && !last) {
      path.emplace_back();
    } else if (IsIdentifier(part) && !IsKeyword(part) && part.size() <= 200) {
      path.emplace_back(part);
    } else {
      return {};
    }
    if (last) return path.size() <= 16 ? path : Path{};
    name.remove_prefix(colons + 2);
  }
}

std::string VisibleName(const Path& path) {
  std::string name;
  for (const std::string& part : path)
    if (!part.empty()) name += (name.empty() ? "" : "::") + part;
  return name;
}

// `stat` is a function as well as a struct: the class key tells the compiler which one is meant.
bool NeedsClassKey(const std::string& visible) {
  return std::ranges::none_of(visible, [](char c) { return (c >= 'A' && c <= 'Z') || c == ':'; });
}

}  // namespace

std::optional<std::string> SpellScalar(const Type& type) {
  const Builtin* builtin = FindBuiltin(Bare(type.name).name);
  if (builtin && builtin->size == type.size) return std::string(builtin->spelling);
  const auto sized = [&](std::string_view prefix) -> std::optional<std::string> {
    if (type.size == 16) return prefix == "u" ? "unsigned __int128" : "__int128";
    if (type.size != 1 && type.size != 2 && type.size != 4 && type.size != 8) return std::nullopt;
    return fmt::format("std::{}int{}_t", prefix, type.size * 8);
  };
  switch (type.kind) {
    case TypeKind::kBool:
      return type.size == 1 ? std::optional<std::string>("bool") : sized("u");
    case TypeKind::kSigned:
      return sized("");
    case TypeKind::kUnsigned:
      return sized("u");
    case TypeKind::kCharacter:
      return type.size == 1 ? std::optional<std::string>("char") : sized("u");
    case TypeKind::kEnum:
      return sized(type.is_signed ? "" : "u");
    case TypeKind::kFloat:
      if (type.size == 4) return "float";
      if (type.size == 8) return "double";
      if (type.size == 16) return "long double";
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool TypeSpeller::CanDeclare(const Path& path) const {
  if (path.empty() || opaque_) return false;
  const std::string& first = path[0];
  if (first == "std" || first == "testing" || first == "recrash" || first == "abi") return false;
  for (const std::string& part : path)
    if (part.starts_with("__") || IsPlainMacro(part)) return false;
  if (path.size() == 1 && IsTypedefName(first)) return false;
  if (path.size() > 1 && !first.empty() && (IsLibraryName(first) || IsTypedefName(first))) return false;
  // A class of this file cannot be a namespace of it: then this one is nested in it.
  Path scope;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    scope.push_back(path[i]);
    if (!path[i].empty() && classes_.contains(VisibleName(scope))) return false;
  }
  return true;
}

void TypeSpeller::Note(const Type& type) {
  if (type.pointee.empty() || type.pointee[0].kind != TypeKind::kClass) return;
  const Path path = SplitName(Bare(type.pointee[0].name).name);
  if (!path.empty()) classes_.emplace(VisibleName(path), path);
}

std::optional<std::string> TypeSpeller::SpellPointer(const Type& type) const {
  if (type.pointee.empty()) return std::nullopt;
  const Type& target = type.pointee[0];
  const std::string qualifier = target.is_const || Bare(target.name).is_const ? "const " : "";
  switch (target.kind) {
    case TypeKind::kClass: {
      // The one class that every file of tests has: GoogleTest includes <string>.
      if (Bare(target.name).name == "std::string") return qualifier + "std::string*";
      const Path path = SplitName(Bare(target.name).name);
      const std::string visible = VisibleName(path);
      const auto known = classes_.find(visible);
      // Two classes of one visible name (in unnamed namespaces of two files, say): the second stays opaque.
      if (known == classes_.end() || known->second != path || !CanDeclare(path)) return std::nullopt;
      return fmt::format("{}{}{}*", qualifier, NeedsClassKey(visible) ? "struct " : "", visible);
    }
    case TypeKind::kBool:
    case TypeKind::kSigned:
    case TypeKind::kUnsigned:
    case TypeKind::kFloat:
    case TypeKind::kCharacter:
      if (const auto scalar = SpellScalar(target)) return fmt::format("{}{}*", qualifier, *scalar);
      return std::nullopt;
    case TypeKind::kUnknown:
      if (Bare(target.name).name == "void") return qualifier + "void*";
      return std::nullopt;
    case TypeKind::kPointer: {
      // Two levels of built-in types (`char**`); deeper or of classes nobody writes a literal for.
      std::string_view inner = target.name;
      while (inner.ends_with(' ')) inner.remove_suffix(1);
      if (!inner.ends_with('*')) return std::nullopt;
      const BareName base = Bare(inner.substr(0, inner.size() - 1));
      const Builtin* builtin = FindBuiltin(base.name);
      if (base.name == "void") return fmt::format("{}void**", base.is_const ? "const " : "");
      if (!builtin) return std::nullopt;
      return fmt::format("{}{}**", base.is_const ? "const " : "", builtin->spelling);
    }
    default:
      return std::nullopt;
  }
}

std::string TypeSpeller::Declarations() const {
  std::string out;
  for (const auto& [visible, path] : classes_) {
    if (!CanDeclare(path)) continue;
    std::string line, end;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      line += path[i].empty() ? "namespace { " : fmt::format("namespace {} {{ ", path[i]);
      end += " }";
    }
    out += fmt::format("{}struct {};{}\n", line, path.back(), end);
  }
  return out;
}

std::set<std::string> TypeSpeller::DeclaredNames() const {
  std::set<std::string> names;
  for (const auto& [visible, path] : classes_) names.insert(visible.substr(0, visible.find("::")));
  return names;
}

}  // namespace recrash
