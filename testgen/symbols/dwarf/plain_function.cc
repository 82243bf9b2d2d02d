#include "testgen/symbols/dwarf/plain_function.h"

#include <string_view>

namespace recrash {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool At(std::string_view text, size_t at, std::string_view word) { return text.substr(at, word.size()) == word; }

bool IsWord(char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_'; }

// Past `operator` and its sign when one stands at `at`; else `at`.
size_t PastOperator(std::string_view name, size_t at) {
  if (!At(name, at, "operator") || (at > 0 && IsWord(name[at - 1]))) return at;
  size_t end = at + 8;
  if (end < name.size() && IsWord(name[end])) return at;
  if (At(name, end, "()")) return end + 2;
  while (end < name.size() && std::string_view("<>=+-*/%^&|~!,[]").find(name[end]) != std::string_view::npos) ++end;
  return end;
}

// "f(int)::Local::g(char) const" as "f(int)::Local::g": without the last parameter list and what follows it.
std::string_view WithoutParameters(std::string_view name) {
  if (const size_t clone = name.find(" [clone"); clone != std::string_view::npos) name = name.substr(0, clone);
  for (const std::string_view suffix : {" noexcept", " &&", " &", " volatile", " const"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
    if (depth > 0) continue;
    const bool part_of_name = i == 0 || At(name, i, kAnonymous) || (i >= 8 && At(name, i - 8, "operator"));
    return part_of_name ? name : name.substr(0, i);
  }
  return name;
}

// Drops template arguments, parameters of enclosing functions, and a return type in front.
std::string Reduced(std::string_view name) {
  std::string out;
  int depth = 0;
  bool after_operator = false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && At(name, i, kAnonymous)) {
      out += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (const size_t end = PastOperator(name, i); depth == 0 && end != i) {
      out += name.substr(i, end - i);
      i = end - 1;
      after_operator = true;
    } else if (c == '<' || c == '(') {
      ++depth;
    } else if (c == '>' || c == ')') {
      depth = depth > 0 ? depth - 1 : 0;
    } else if (depth == 0 && c == ' ' && !after_operator) {
      out.clear();
    } else if (depth == 0) {
      out += c;
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// The end of a lambda's name that begins at `at`: {lambda#1} of gcc, $_0 and 'lambda0' of clang; else `at`.
size_t PastLambda(std::string_view name, size_t at) {
  const auto past_digits = [&](size_t i) {
    while (i < name.size() && name[i] >= '0' && name[i] <= '9') ++i;
    return i;
  };
  if (At(name, at, "$_")) return past_digits(at + 2);
  if (At(name, at, "{lambda") || At(name, at, "'lambda")) {
    const size_t end = name.find(name[at] == '{' ? '}' : '\'', at + 1);
    return end == name.npos ? at : end + 1;
  }
  return at;
}

}  // namespace

std::string WithoutUnnamedNamespaces(std::string text) {
  for (size_t at; (at = text.find(kAnonymous)) != std::string::npos;) {
    const size_t length = kAnonymous.size();
    text.erase(at, text.compare(at + length, 2, "::") == 0 ? length + 2 : length);
  }
  return text;
}

std::string PlainFunction(const std::string& demangled) {
  return WithoutUnnamedNamespaces(Reduced(WithoutParameters(demangled)));
}

std::string SourceName(const std::string& demangled) {
  const std::string name = PlainFunction(demangled);
  std::string out;
  for (size_t i = 0; i < name.size();) {
    const size_t end = PastLambda(name, i);
    if (end == i) {
      out += name[i++];
    } else {
      out += "{lambda}";
      i = end;
    }
  }
  return out;
}

}  // namespace recrash
