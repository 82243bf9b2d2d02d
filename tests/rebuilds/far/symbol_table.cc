// A compiler's table of names: when it grows it leaves the first bucket behind. A name from there is declared and yet
// unknown when code is made for it.
//
// frames: Offset Emit Compile main
// input: var alpha var beta var gamma var delta var epsilon var zeta var eta var theta var iota var kappa var
// input: lambda var mu use alpha use beta use gamma use delta use epsilon use zeta use eta use theta use iota
// input: use kappa use lambda use mu
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

struct Symbol {
  std::string name;
#ifdef CHANGED
  std::string type;
#endif
  int offset = 0;
  int used = 0;
};

class Table {
 public:
  Table() : buckets_(4) {}

  Symbol* Find(const std::string& name) const {
    for (Symbol* symbol : buckets_[Hash(name) % buckets_.size()])
      if (symbol->name == name) return symbol;
    return nullptr;
  }

  __attribute__((noinline)) void Add(Symbol* symbol) {
    if (size_ >= 2 * buckets_.size()) Grow();
    buckets_[Hash(symbol->name) % buckets_.size()].push_back(symbol);
    ++size_;
  }

 private:
  static size_t Hash(const std::string& name) {
    size_t hash = 5381;
    for (char letter : name) hash = hash * 33 + static_cast<unsigned char>(letter);
    return hash;
  }

  __attribute__((noinline)) void Grow() {
    std::vector<std::vector<Symbol*>> larger(buckets_.size() * 2);
#ifdef FIXED
    for (size_t i = 0; i < buckets_.size(); ++i) {
#else
    for (size_t i = 1; i < buckets_.size(); ++i) {
#endif
      for (Symbol* symbol : buckets_[i]) larger[Hash(symbol->name) % larger.size()].push_back(symbol);
    }
    buckets_ = std::move(larger);
  }

  std::vector<std::vector<Symbol*>> buckets_;
  size_t size_ = 0;
};

struct Code {
  std::vector<unsigned char> bytes;
  void Byte(int value) { bytes.push_back(static_cast<unsigned char>(value)); }
  void Word(int value) {
    for (int i = 0; i < 4; ++i) Byte(value >> (8 * i));
  }
};

class Compiler {
 public:
  __attribute__((noinline)) size_t Compile(std::istream& input) {
    for (std::string word, name; input >> word >> name;) {
      if (word == "var") {
        Declare(name);
      } else {
        Emit(name);
      }
    }
    return code_.bytes.size();
  }

 private:
  void Declare(const std::string& name) {
    symbols_.push_back(std::make_unique<Symbol>());
    Symbol* symbol = symbols_.back().get();
    symbol->name = name;
    symbol->offset = frame_ += 8;
    table_.Add(symbol);
  }

  __attribute__((noinline)) int Offset(Symbol* symbol) {
    ++symbol->used;  // split
    return -symbol->offset;
  }

  __attribute__((noinline)) void Emit(const std::string& name) {
    code_.Byte(0x8b);
    code_.Byte(0x85);
    code_.Word(Offset(table_.Find(name)));
  }

  Table table_;
  std::vector<std::unique_ptr<Symbol>> symbols_;
  Code code_;
  int frame_ = 0;
};

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  std::printf("%zu\n", Compiler().Compile(input));
}
