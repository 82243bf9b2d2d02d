// A build tool that keeps pointers to names in a list, and then packs that list. The plan is printed much later.
//
// frames: Quote Describe Print main
// input: app: main.o parse.o\nmain.o: main.c\nparse.o: parse.c table.h\ntable.h: table.y\nmain.c:\nparse.c:\ntable.y:\n
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

struct Target {
  const std::string* name = nullptr;
  std::vector<std::string> needs;
  bool built = false;
};

// All names, each once: targets and messages refer to them.
class Names {
 public:
  const std::string* Add(const std::string& name) {
    for (const std::string& known : names_)
      if (known == name) return &known;
    names_.push_back(name);
    return &names_.back();
  }
  void Reserve(size_t count) { names_.reserve(count); }
  // Gives back the room that is not needed.
  void Pack() { std::vector<std::string>(names_).swap(names_); }
  size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

class Graph {
 public:
  __attribute__((noinline)) void Load(std::istream& input) {
    names_.Reserve(64);
    for (std::string line; std::getline(input, line);) {
      size_t colon = line.find(':');
      if (colon == line.npos) continue;
      Target& target = targets_[line.substr(0, colon)];
      target.name = names_.Add(line.substr(0, colon));
      std::istringstream words(line.substr(colon + 1));
      for (std::string word; words >> word;) {
        names_.Add(word);
        target.needs.push_back(word);
      }
    }
    names_.Pack();
#ifdef FIXED
    for (auto& [name, target] : targets_) target.name = names_.Add(name);
#endif
  }

  __attribute__((noinline)) std::vector<const Target*> Plan(const std::string& wanted) {
    std::vector<const Target*> plan;
    std::set<std::string> seen;
    Visit(wanted, plan, seen);
    return plan;
  }

  size_t names() const { return names_.size(); }

 private:
  void Visit(const std::string& name, std::vector<const Target*>& plan, std::set<std::string>& seen) {
    if (!seen.insert(name).second) return;
    auto found = targets_.find(name);
    if (found == targets_.end()) return;
    for (const std::string& need : found->second.needs) Visit(need, plan, seen);
    found->second.built = true;
    plan.push_back(&found->second);
  }

  Names names_;
  std::map<std::string, Target> targets_;
};

__attribute__((noinline)) std::string Quote(const std::string& text) {
  std::string quoted = "'";
  for (char letter : text) {
    if (letter == '\'') quoted += '\\';  // split
    quoted += letter;
  }
  return quoted + "'";
}

__attribute__((noinline)) std::string Describe(const Target& target, size_t number) {
  std::string text = "[" + std::to_string(number) + "] ";
  text += target.needs.empty() ? "have " : "make ";
  text += Quote(*target.name);
  if (!target.needs.empty()) text += " from " + std::to_string(target.needs.size());
  return text;
}

__attribute__((noinline)) size_t Print(const std::vector<const Target*>& plan) {
  size_t letters = 0, number = 0;
  for (const Target* target : plan) {
    std::string line = Describe(*target, ++number);
    letters += line.size();
  }
  return letters;
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  Graph graph;
  graph.Load(input);
  std::vector<const Target*> plan = graph.Plan("app");
  std::printf("%zu %zu\n", graph.names(), Print(plan));
}
