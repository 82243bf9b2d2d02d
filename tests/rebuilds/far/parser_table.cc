// A calculator whose table of operators is filled by a loop that stops one short. Only an expression with the last
// operator meets the gap, after parsing, when it is evaluated.
//
// frames: Apply Evaluate Evaluate main
// input: 2 + 3 * 4 - 6 / 2\n(7 - 2) * 5 + 11 % 4\n
#include <cctype>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

enum Token { kEnd, kNumber, kOpen, kClose, kPlus, kMinus, kTimes, kDivide, kModulo, kTokens };

using Operation = long (*)(long, long);

struct Rule {
  int precedence = 0;
  Operation apply = nullptr;
};

struct Tree {
  Token token = kNumber;
  long number = 0;
#ifdef CHANGED
  int column = 0;
#endif
  std::unique_ptr<Tree> left, right;
};

long Plus(long a, long b) { return a + b; }
long Minus(long a, long b) { return a - b; }
long Times(long a, long b) { return a * b; }
long Divide(long a, long b) { return b ? a / b : 0; }
long Modulo(long a, long b) { return b ? a % b : 0; }

class Rules {
 public:
  Rules() {
    const Operation operations[] = {Plus, Minus, Times, Divide, Modulo};
    const int precedences[] = {1, 1, 2, 2, 2};
    for (int token = kPlus; token < kTokens; ++token) rules_[token].precedence = precedences[token - kPlus];
#ifdef FIXED
    for (int token = kPlus; token < kTokens; ++token) rules_[token].apply = operations[token - kPlus];
#else
    for (int token = kPlus; token < kTokens - 1; ++token) rules_[token].apply = operations[token - kPlus];
#endif
  }
  const Rule& Of(Token token) const { return rules_[token]; }

 private:
  Rule rules_[kTokens];
};

class Parser {
 public:
  Parser(const Rules& rules, const std::string& text) : rules_(rules), text_(text) { Advance(); }

  std::unique_ptr<Tree> Expression(int precedence = 1) {
    std::unique_ptr<Tree> left = Operand();
    while (rules_.Of(token_).precedence >= precedence) {
      Token operation = token_;
      Advance();
      auto tree = std::make_unique<Tree>();
      tree->token = operation;
      tree->left = std::move(left);
      tree->right = Expression(rules_.Of(operation).precedence + 1);
      left = std::move(tree);
    }
    return left;
  }

 private:
  void Advance() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ >= text_.size()) {
      token_ = kEnd;
    } else if (std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      token_ = kNumber;
      for (number_ = 0; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_)
        number_ = number_ * 10 + text_[at_] - '0';
    } else {
      token_ = static_cast<Token>(std::string("()+-*/%").find(text_[at_++]) + kOpen);
    }
  }

  std::unique_ptr<Tree> Operand() {
    if (token_ == kOpen) {
      Advance();
      auto inner = Expression();
      Advance();
      return inner;
    }
    auto tree = std::make_unique<Tree>();
    tree->number = number_;
    Advance();
    return tree;
  }

  const Rules& rules_;
  std::string text_;
  size_t at_ = 0;
  Token token_ = kEnd;
  long number_ = 0;
};

__attribute__((noinline)) long Apply(const Rule& rule, long left, long right) {
  long result = rule.apply(left, right);
  return result == -1 ? 0 : result;
}

__attribute__((noinline)) long Evaluate(const Rules& rules, const Tree& tree) {
  if (tree.token == kNumber) return tree.number;
  long left = Evaluate(rules, *tree.left), right = Evaluate(rules, *tree.right);
  return Apply(rules.Of(tree.token), left, right);
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  Rules rules;
  long sum = 0;
  for (std::string line; std::getline(input, line);) sum += Evaluate(rules, *Parser(rules, line).Expression());
  std::printf("%ld\n", sum);
}
