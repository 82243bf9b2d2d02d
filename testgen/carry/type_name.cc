#include "testgen/carry/type_name.h"

#include <algorithm>
#include <vector>

namespace recrash {
namespace {

constexpr std::string_view kLambda = "(lambda at ", kLambdaOfGcc = "<lambda(";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordChar(char c) { return IsDigit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$'; }
bool IsWord(const std::string& token) { return !token.empty() && IsWordChar(token[0]); }

// Takes the tokens from the bracket that belongs to the last one, which closes.
void PopBrackets(char open, char close, std::vector<std::string>* tokens) {
  int depth = 0;
  while (!tokens->empty()) {
    const std::string token = tokens->back();
    tokens->pop_back();
    if (token == std::string_view(&close, 1)) ++depth;
    if (token == std::string_view(&open, 1) && --depth == 0) return;
  }
}

// Takes the scope that g++ writes before a lambda: "ns::Count<int>(int) const::".
void PopScope(std::vector<std::string>* tokens) {
  const auto ends = [&](std::string_view token) { return !tokens->empty() && tokens->back() == token; };
  while (ends(":") || ends("const::")) {
    while (ends(":") || ends("const::") || ends("const") || ends("&")) tokens->pop_back();
    if (ends(")")) PopBrackets('(', ')', tokens);
    if (ends(">")) PopBrackets('<', '>', tokens);
    if (!tokens->empty() && IsWord(tokens->back())) tokens->pop_back();
  }
  if (!tokens->empty() && tokens->back().ends_with("::")) tokens->pop_back();
}

// The end of a lambda's name that begins at `at`, "(lambda at a.cc:20:3)" or "<lambda(int)>"; else `at`.
size_t PastLambda(std::string_view name, size_t at) {
  if (name.substr(at, kLambda.size()) == kLambda) return std::min(name.find(')', at), name.size() - 1) + 1;
  if (name.substr(at, kLambdaOfGcc.size()) != kLambdaOfGcc) return at;
  int depth = 0;
  for (size_t i = at; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if ((name[i] == '>' || name[i] == ')') && --depth == 0) return i + 1;
  }
  return name.size();
}

// Words with their scopes, "std::vector"; numbers without suffixes; single other characters.
std::vector<std::string> Tokens(std::string_view name) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < name.size();) {
    size_t end = i + 1;
    if (const size_t past = PastLambda(name, i); past != i) {
      if (name[i] == '<') PopScope(&tokens);
      tokens.emplace_back("(lambda)");
      end = past;
    } else if (IsDigit(name[i])) {
      while (end < name.size() && IsDigit(name[end])) ++end;
      tokens.emplace_back(name.substr(i, end - i));
      while (end < name.size() && IsWordChar(name[end])) ++end;
    } else if (IsWordChar(name[i])) {
      while (end < name.size() && (IsWordChar(name[end]) || name[end] == ':')) ++end;
      tokens.emplace_back(name.substr(i, end - i));
    } else if (name[i] != ' ') {
      tokens.emplace_back(1, name[i]);
    }
    i = end;
  }
  return tokens;
}

// Of the words of a number's type, in any order: "long unsigned int" is "unsigned long".
class NumberWords {
 public:
  bool Take(const std::string& token) {
    if (token == "unsigned") return is_unsigned_ = true;
    if (token == "signed") return is_signed_ = true;
    if (token == "long") return ++longs_ > 0;
    if (token == "short") return is_short_ = true;
    if (token == "int") return is_int_ = true;
    if (token == "char") return is_char_ = true;
    if (token == "double") return is_double_ = true;
    return false;
  }
  std::string Text() const {
    std::string text = is_unsigned_ ? "unsigned " : is_signed_ && is_char_ ? "signed " : "";
    for (int i = 0; i < longs_; ++i) text += "long ";
    if (is_short_) text += "short ";
    if (is_char_) text += "char ";
    if (is_double_) text += "double ";
    if (longs_ == 0 && !is_short_ && !is_char_ && !is_double_) text += "int ";
    text.pop_back();
    return text;
  }

 private:
  bool is_unsigned_ = false, is_signed_ = false, is_short_ = false, is_int_ = false, is_char_ = false,
       is_double_ = false;
  int longs_ = 0;
};

class Writer {
 public:
  explicit Writer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  std::string Write() {
    while (at_ < tokens_.size()) WriteOne();
    return out_;
  }

 private:
  // A type's own name, with const behind it, or one other token.
  void WriteOne() {
    bool is_const = TakeConst();
    NumberWords number;
    const size_t start = at_;
    while (at_ < tokens_.size() && (number.Take(tokens_[at_]) || (at_ > start && TakeConstInside(&is_const)))) ++at_;
    if (at_ > start) {
      Put(number.Text());
    } else if (at_ < tokens_.size()) {
      Put(tokens_[at_++]);
      if (IsWord(tokens_[at_ - 1])) WriteArguments();
    }
    const bool begins_another = !out_.empty() && std::string_view("(,<").find(out_.back()) != std::string_view::npos;
    if (!begins_another && TakeConst()) is_const = true;
    if (is_const) Put("const");
  }
  void WriteArguments() {
    if (at_ >= tokens_.size() || tokens_[at_] != "<") return;
    for (Put(tokens_[at_++]); at_ < tokens_.size() && tokens_[at_] != ">";) WriteOne();
    if (at_ < tokens_.size()) Put(tokens_[at_++]);
    // A name goes on behind them: "Outer<int>::Inner".
    if (at_ < tokens_.size() && tokens_[at_] == ":") {
      while (at_ < tokens_.size() && tokens_[at_] == ":") Put(tokens_[at_++]);
      if (at_ < tokens_.size()) Put(tokens_[at_++]);
      WriteArguments();
    }
  }
  bool TakeConst() {
    if (at_ >= tokens_.size() || tokens_[at_] != "const") return false;
    ++at_;
    return true;
  }
  bool TakeConstInside(bool* is_const) { return tokens_[at_] == "const" ? *is_const = true : false; }
  void Put(const std::string& token) {
    if (IsWord(token) && !out_.empty() && (IsWordChar(out_.back()) || out_.back() == '>')) out_ += ' ';
    out_ += token;
  }

  const std::vector<std::string> tokens_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string CommonTypeName(std::string_view name) { return Writer(Tokens(name)).Write(); }

bool IsLambda(std::string_view name) { return name.starts_with("(lambda ") && name.find(" in ") != name.npos; }

namespace {

struct LambdaPlace {
  std::string_view number, count, function, line;
};

// "(lambda 1 of 2 in Count, line +3 of a.cc)". The name of a function may hold anything but the last comma.
LambdaPlace PlaceOf(std::string_view name) {
  constexpr std::string_view kBegin = "(lambda ", kOf = " of ", kIn = " in ", kLine = ", line ";
  const size_t of = name.find(kOf), in = name.find(kIn), line = name.rfind(kLine);
  if (of == name.npos || in == name.npos || line == name.npos || of > in || in > line) return {};
  return {name.substr(kBegin.size(), of - kBegin.size()), name.substr(of + kOf.size(), in - of - kOf.size()),
          name.substr(in + kIn.size(), line - in - kIn.size()), name.substr(line + kLine.size())};
}

}  // namespace

namespace {

// Of several lambdas an edit may have changed the order, so that the place alone says nothing.
bool HaveSamePlace(const LambdaPlace& was, const LambdaPlace& is) {
  return was.count == is.count && was.number == is.number && (was.count == "1" || was.line == is.line);
}

}  // namespace

bool IsLambdaInSamePlace(std::string_view recorded, std::string_view built) {
  const LambdaPlace was = PlaceOf(recorded), is = PlaceOf(built);
  return IsLambda(recorded) && IsLambda(built) && HaveSamePlace(was, is) &&
         CommonTypeName(was.function) == CommonTypeName(is.function);
}

bool IsSameTypeName(std::string_view recorded, std::string_view built) {
  if (recorded == built) return true;
  if (!IsLambda(recorded) || !IsLambda(built)) {
    // Reports were written before recrash told lambdas apart.
    if (recorded == "(anonymous class)" && IsLambda(built)) return true;
    return CommonTypeName(recorded) == CommonTypeName(built);
  }
  const LambdaPlace was = PlaceOf(recorded), is = PlaceOf(built);
  if (CommonTypeName(was.function) != CommonTypeName(is.function)) return false;
  return was.count == is.count ? HaveSamePlace(was, is) : was.line == is.line;
}

}  // namespace recrash
