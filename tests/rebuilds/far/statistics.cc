// A collector of measurements joins the groups of two runs and forgets to add their counts where a group is new. The
// mean of such a group divides by zero, when the report is written.
//
// frames: Mean Line Write main
// input: read 12\nread 14\nwrite 40\nrun\nread 11\nsync 90\nsync 95\nwrite 44\n
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Group {
  long sum = 0;
  long count = 0;
#ifdef CHANGED
  std::vector<long> all;
#endif
  long longest = 0;
};

class Run {
 public:
  void Add(const std::string& name, long time) {
    Group& group = groups_[name];
    group.sum += time;
    ++group.count;
    if (time > group.longest) group.longest = time;
  }
  const std::map<std::string, Group>& groups() const { return groups_; }

  __attribute__((noinline)) void Join(const Run& other) {
    for (const auto& [name, group] : other.groups_) {
      auto [place, added] = groups_.try_emplace(name);
      Group& mine = place->second;
      if (added) {
#ifdef FIXED
        mine.count = group.count;
#endif
        mine.sum = group.sum;
        mine.longest = group.longest;
      } else {
        mine.sum += group.sum;
        mine.count += group.count;
        if (group.longest > mine.longest) mine.longest = group.longest;
      }
    }
  }

 private:
  std::map<std::string, Group> groups_;
};

__attribute__((noinline)) std::vector<Run> Read(std::istream& input) {
  std::vector<Run> runs(1);
  for (std::string line; std::getline(input, line);) {
    std::istringstream words(line);
    std::string name;
    long time;
    words >> name;
    if (name == "run") {
      runs.emplace_back();
    } else if (words >> time) {
      runs.back().Add(name, time);
    }
  }
  return runs;
}

class Report {
 public:
  explicit Report(int scale) : scale_(scale) {}

  __attribute__((noinline)) size_t Write(const Run& run) {
    for (const auto& [name, group] : run.groups()) Line(name, group);
    return text_.size();
  }

 private:
  __attribute__((noinline)) long Mean(const Group& group) const { return scale_ * group.sum / group.count; }  // split

  __attribute__((noinline)) void Line(const std::string& name, const Group& group) {
    long mean = Mean(group);
    text_ += name + ": " + std::to_string(mean) + ", at most " + std::to_string(scale_ * group.longest) + "\n";
    ++lines_;
  }

  int scale_;
  int lines_ = 0;
  std::string text_;
};

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  std::vector<Run> runs = Read(input);
  Run all = runs[0];
  for (size_t i = 1; i < runs.size(); ++i) all.Join(runs[i]);
  std::printf("%zu\n", Report(10).Write(all));
}
