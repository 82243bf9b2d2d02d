// Reads a table of bookmarks and prints where each leads. A line without an address shifts all that follow.
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

class Bookmarks {
 public:
  NOINLINE void Init(const std::string& table) {
    names_.clear();
    urls_.clear();
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      size_t at = line.find(' ');
      names_.push_back(line.substr(0, at));
      if (at != std::string::npos) urls_.push_back(line.substr(at + 1));
    }
  }

  NOINLINE const std::string& GetUrl(size_t index) const { return urls_.at(index); }

  NOINLINE size_t Print(const std::string& table) {
    Init(table);
    size_t letters = 0;
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string& url = GetUrl(i);
      letters += std::printf("%s -> %s\n", names_[i].c_str(), url.c_str());
    }
    return letters;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> urls_;
};

int main() {
  Bookmarks bookmarks;
  bookmarks.Print("news https://news.example\nmail\nmaps https://maps.example\n");
}
