// A text editor with undo: the record of a replacement has the length of the new text where that of the old one is
// needed. The third undo takes more than the text has.
//
// frames: Take Revert Undo main
// input: insert 0 hello\nreplace 0 5 good-morning\ninsert 12 -world\nreplace 0 12 hi\nundo\nundo\nundo\nundo\n
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct Edit {
  size_t at;
#ifdef CHANGED
  bool merged = false;
#endif
  std::string taken;  // what stood there before
  size_t put;         // how long what stands there now is
};

class Text {
 public:
  __attribute__((noinline)) std::string Take(size_t at, size_t length) {
    std::string taken = text_.substr(at, length);
    if (taken.size() < length) throw_short(at, length);
    text_.erase(at, length);
    return taken;
  }
  void Put(size_t at, const std::string& text) { text_.insert(at, text); }
  size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }

 private:
  [[noreturn]] static void throw_short(size_t at, size_t length) {
    throw std::string("the text ends before ") + std::to_string(at + length);
  }
  std::string text_;
};

class History {
 public:
  void Note(Edit edit) { edits_.push_back(std::move(edit)); }
  bool empty() const { return edits_.empty(); }
  Edit Last() {
    Edit edit = std::move(edits_.back());
    edits_.pop_back();
    return edit;
  }

 private:
  std::vector<Edit> edits_;
};

class Editor {
 public:
  void Insert(size_t at, const std::string& text) {
    text_.Put(at, text);
    Edit edit;
    edit.at = at;
    edit.put = text.size();
    history_.Note(std::move(edit));
    ++version_;
  }

  __attribute__((noinline)) void Replace(size_t at, size_t length, const std::string& text) {
    Edit edit;
    edit.at = at;
    edit.taken = text_.Take(at, length);
    text_.Put(at, text);
#ifdef FIXED
    edit.put = text.size();
#else
    edit.put = edit.taken.size();
#endif
    history_.Note(std::move(edit));
    ++version_;
  }

  __attribute__((noinline)) bool Undo() {
    if (history_.empty()) return false;
    Revert(history_.Last());
    ++version_;
    return true;
  }

  const std::string& text() const { return text_.text(); }

 private:
  __attribute__((noinline)) void Revert(const Edit& edit) {
    text_.Take(edit.at, edit.put);
    text_.Put(edit.at, edit.taken);
  }

  Text text_;
  History history_;
  int version_ = 0;
};

__attribute__((noinline)) void Execute(Editor& editor, const std::string& line) {
  std::istringstream words(line);
  std::string command, text;
  size_t at = 0, length = 0;
  words >> command;
  if (command == "insert") {
    words >> at >> text;
    editor.Insert(at, text);
  } else if (command == "replace") {
    words >> at >> length >> text;
    editor.Replace(at, length, text);
  } else if (command == "undo") {
    editor.Undo();
  }
}

int main(int argc, char** argv) {
  std::ifstream input(argv[argc - 1]);
  if (!input) return 1;
  Editor editor;
  for (std::string line; std::getline(input, line);) Execute(editor, line);
  std::printf("'%s'\n", editor.text().c_str());
}
