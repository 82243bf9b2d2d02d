#include "testgen/symbols/dwarf/names.h"

#include <cctype>
#include <vector>

#include "agent/base/readable_name.h"

namespace recrash {
namespace {

// Names in programs full of templates reach tens of kilobytes. A longer name is left as it is.
constexpr size_t kMaxName = 1 << 16;
constexpr int kMaxNesting = 100;

bool IsWord(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Returns true if the '<' or '>' at `i` is part of an operator's name (operator<, operator->, operator<<=).
bool IsOperatorName(std::string_view name, size_t i) {
  size_t start = i;
  while (start > 0 && (name[start - 1] == '<' || name[start - 1] == '>' || name[start - 1] == '-')) --start;
  return start >= 8 && name.substr(start - 8, 8) == "operator";
}

// Returns the end of the template argument list that opens at `open`; npos if it does not close.
size_t Closing(std::string_view name, size_t open) {
  int angle = 0;
  int round = 0;
  for (size_t i = open; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '(' || c == '{' || c == '[') ++round;
    if (c == ')' || c == '}' || c == ']') --round;
    if (round != 0 || IsOperatorName(name, i)) continue;
    if (c == '<') ++angle;
    if (c == '>' && (i == 0 || name[i - 1] != '-') && --angle == 0) return i;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> SplitArguments(std::string_view list) {
  std::vector<std::string_view> arguments;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' && (i == 0 || list[i - 1] != '-')) || c == ')' || c == '}' || c == ']') --depth;
    if (c != ',' || depth != 0) continue;
    arguments.push_back(Trim(list.substr(start, i - start)));
    start = i + 1;
  }
  arguments.push_back(Trim(list.substr(start)));
  return arguments;
}

// Returns true if this is a default argument of a standard template whose first argument is `first`.
bool IsDefaultArgument(const std::string& argument, const std::string& first) {
  if (argument.starts_with("std::allocator<")) return true;
  for (const char* name : {"std::less<", "std::hash<", "std::equal_to<", "std::default_delete<", "std::char_traits<"})
    if (argument == name + first + ">") return true;
  return false;
}

std::string Simplify(std::string_view name, int depth);

std::string SimplifyTemplate(std::string_view templ, std::string_view list, int depth) {
  std::vector<std::string> arguments;
  for (const std::string_view argument : SplitArguments(list)) arguments.push_back(Simplify(argument, depth + 1));
  const bool is_standard = templ.size() >= 5 && templ.find("std::") != std::string_view::npos;
  while (is_standard && arguments.size() > 1 && IsDefaultArgument(arguments.back(), arguments.front()))
    arguments.pop_back();
  std::string text = "<";
  for (size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ">";
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    // Only whole names: not other_std::string.
    if (at > 0 && (IsWord(text[at - 1]) || text[at - 1] == ':')) {
      at += from.size();
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

std::string Simplify(std::string_view name, int depth) {
  if (depth > kMaxNesting) return std::string(name);
  std::string text;
  for (size_t i = 0; i < name.size();) {
    const bool opens = name[i] == '<' && !text.empty() && IsWord(text.back()) && !IsOperatorName(name, i);
    const size_t close = opens ? Closing(name, i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      text += name[i++];
      continue;
    }
    size_t start = text.size();
    while (start > 0 && (IsWord(text[start - 1]) || text[start - 1] == ':')) --start;
    text += SimplifyTemplate(std::string_view(text).substr(start), name.substr(i + 1, close - i - 1), depth);
    i = close + 1;
  }
  ReplaceAll(text, "std::__cxx11::", "std::");
  ReplaceAll(text, "std::__1::", "std::");  // libc++'s
  for (size_t at; (at = text.find("[abi:cxx11]")) != std::string::npos;) text.erase(at, 11);
  ReplaceAll(text, "std::basic_string<char>", "std::string");
  ReplaceAll(text, "std::basic_string<wchar_t>", "std::wstring");
  ReplaceAll(text, "std::basic_string_view<char>", "std::string_view");
  ReplaceAll(text, "std::basic_ostream<char>", "std::ostream");
  ReplaceAll(text, "std::basic_istream<char>", "std::istream");
  return text;
}

}  // namespace

std::string SimplifyName(std::string_view name) {
  return name.size() > kMaxName ? std::string(name) : Simplify(name, 0);
}

std::string ReadableName(const std::string& linkage_name) { return SimplifyName(Demangle(linkage_name)); }

}  // namespace recrash
