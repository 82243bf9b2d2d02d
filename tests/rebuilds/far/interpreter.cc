// An interpreter with a garbage collector that does not mark what a function has captured. Long after the collection a
// call of that function finds another object in the place of its variable.
//
// frames: Truth Evaluate Run main
// input: (set base (pair 40 2)) (set f (fn x (add (first base) x))) (set keep (fn y (pair y base))) (set base
// input: 0) (loop 60 (pair 1 2)) (call f 1) (call keep 3) (loop 60 (pair 5 6)) (call f 2)
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Object {
  enum Kind { kFree, kNumber, kPair, kFunction } kind = kFree;
  bool marked = false;
  long number = 0;
  Object* first = nullptr;
  Object* second = nullptr;
  const struct Form* body = nullptr;
  std::string parameter;
  std::map<std::string, Object*> captured;
};

struct Form {
  std::string word;
  std::vector<Form> parts;
};

class Heap {
 public:
  explicit Heap(size_t size) : objects_(size) {}

  Object* Make(Object::Kind kind, const std::map<std::string, Object*>& roots, const std::vector<Object*>& stack) {
    Object* object = Take();
    if (!object) {
      Collect(roots, stack);
      object = Take();
      if (!object) std::abort();
    }
    *object = Object();
    object->kind = kind;
    return object;
  }

 private:
  Object* Take() {
    for (Object& object : objects_)
      if (object.kind == Object::kFree) return &object;
    return nullptr;
  }

  void Mark(Object* object) {
    if (!object || object->marked) return;
    object->marked = true;
    Mark(object->first);
    Mark(object->second);
#ifdef FIXED
    for (auto& [name, value] : object->captured) Mark(value);
#endif
  }

  __attribute__((noinline)) void Collect(const std::map<std::string, Object*>& roots,
                                         const std::vector<Object*>& stack) {
    for (auto& [name, object] : roots) Mark(object);
    for (Object* object : stack) Mark(object);
    for (Object& object : objects_) {
      if (!object.marked) {
        object.kind = Object::kFree;
        object.first = object.second = nullptr;
      }
      object.marked = false;
    }
  }

  std::vector<Object> objects_;
};

class Interpreter {
 public:
  explicit Interpreter(size_t objects) : heap_(objects) {}

  long Run(const std::vector<Form>& program) {
    long sum = 0;
    for (const Form& form : program) sum += Truth(Evaluate(form, {}));
    return sum;
  }

 private:
  using Variables = std::map<std::string, Object*>;

  __attribute__((noinline)) long Truth(const Object* value) {
    if (value->kind == Object::kFunction) return 1;
    return value->kind == Object::kNumber ? value->number : Truth(value->first);  // split
  }

  Object* Number(long number) {
    Object* object = heap_.Make(Object::kNumber, globals_, stack_);
    object->number = number;
    return object;
  }

  Object* Find(const std::string& name, const Variables& locals) {
    auto found = locals.find(name);
    return found != locals.end() ? found->second : globals_[name];
  }

  Object* MakePair(Object* first, Object* second) {
    stack_.push_back(first);
    stack_.push_back(second);
    Object* pair = heap_.Make(Object::kPair, globals_, stack_);
    stack_.resize(stack_.size() - 2);
    pair->first = first;
    pair->second = second;
    return pair;
  }

  Object* MakeFunction(const Form& form) {
    Object* function = heap_.Make(Object::kFunction, globals_, stack_);
    function->parameter = form.parts[1].word;
    function->body = &form.parts[2];
    for (auto& [name, value] : globals_)
      if (value && value->kind == Object::kPair) function->captured[name] = value;
    return function;
  }

  Object* Call(Object* function, Object* argument) {
    Variables locals = function->captured;
    locals[function->parameter] = argument;
    stack_.push_back(argument);
    Object* result = Evaluate(*function->body, locals);
    stack_.pop_back();
    return result;
  }

  __attribute__((noinline)) Object* Evaluate(const Form& form, const Variables& locals) {
    if (form.parts.empty()) {
      return form.word.find_first_not_of("0123456789") == form.word.npos ? Number(std::stol(form.word))
                                                                         : Find(form.word, locals);
    }
    const std::string& word = form.parts[0].word;
    auto part = [&](size_t index) { return Evaluate(form.parts[index], locals); };
    if (word == "set") return globals_[form.parts[1].word] = part(2);
    if (word == "fn") return MakeFunction(form);
    if (word == "first") return part(1)->first;
    if (word == "add") {
      long left = Truth(part(1));
      return Number(left + Truth(part(2)));
    }
    if (word == "call") return Call(part(1), part(2));
    if (word == "loop") {
      Object* last = nullptr;
      for (long i = std::stol(form.parts[1].word); i > 0; --i) last = part(2);
      return last;
    }
    Object* first = part(1);
    stack_.push_back(first);
    Object* second = part(2);
    stack_.pop_back();
    return MakePair(first, second);
  }

  Heap heap_;
  Variables globals_;
  std::vector<Object*> stack_;
};

Form Read(std::istream& input) {
  char letter;
  input >> letter;
  Form form;
  if (letter == '(') {
    while ((input >> std::ws).peek() != ')') form.parts.push_back(Read(input));
    input.get();
    return form;
  }
  for (form.word = letter; std::isalnum(input.peek());) form.word += static_cast<char>(input.get());
  return form;
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  std::vector<Form> program;
  while ((input >> std::ws).good() && input.peek() == '(') program.push_back(Read(input));
  Interpreter interpreter(40);
  std::printf("%ld\n", interpreter.Run(program));
}
