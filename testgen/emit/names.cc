#include "testgen/emit/names.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

namespace recrash {
namespace {

// C++20's keywords and alternative operators, each between blanks. Those of C++17 are among them.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if "
    "inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected "
    "public register reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq ";

// What the body of a generated test mentions.
constexpr std::string_view kMeaningful[] = {"frame", "recrash", "std", "testing", "self"};

// Macros of one word that the headers of the generated file (GoogleTest, the C library, GNU C++) define;
// compile_test.cc compares with what the compilers define.
constexpr std::string_view kPlainMacros[] = {
    "errno", "stdin", "stdout", "stderr",   "linux",     "unix",      "i386",     "sv_onstack",
    "EOF",   "NULL",  "BUFSIZ", "L_tmpnam", "L_ctermid", "L_cuserid", "P_tmpdir", "sched_priority"};

// Macros for members of structures: st_atime, sa_handler, si_addr, sigev_notify_function, f_fsid, uc_flags.
constexpr std::string_view kMemberPrefixes[] = {"st_", "sa_", "si_", "sigev_", "uc_", "sin_", "sun_"};

bool IsMeaningful(const std::string& name) {
  if (std::ranges::find(kMeaningful, name) != std::end(kMeaningful) || IsPlainMacro(name)) return true;
  if (std::ranges::any_of(kMemberPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return true;
  // All capitals: EOF, NULL, INT_MAX, a macro more often than not.
  return std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

bool IsIdentifier(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool IsKeyword(std::string_view name) { return kKeywords.find(fmt::format(" {} ", name)) != std::string_view::npos; }

bool IsPlainMacro(std::string_view name) { return std::ranges::find(kPlainMacros, name) != std::end(kPlainMacros); }

bool IsLibraryName(const std::string& name) { return dlsym(RTLD_DEFAULT, name.c_str()) != nullptr; }

std::string LocalNames::Next(const std::string& wanted, unsigned number) {
  std::string name = wanted == "this" ? "self" : wanted;
  name.erase(0, std::min(name.find_first_not_of('_'), name.size()));  // a leading underscore may be reserved
  if (!IsIdentifier(name) || name.size() > 60) name = fmt::format("argument{}", number);
  if (IsKeyword(name) || (IsMeaningful(name) && wanted != "this")) name += '_';
  std::string unique = name;
  for (unsigned i = 2; !taken_.insert(unique).second; ++i)
    unique = fmt::format("{}{}{}", name, name.ends_with('_') ? "" : "_", i);
  return unique;
}

}  // namespace recrash
