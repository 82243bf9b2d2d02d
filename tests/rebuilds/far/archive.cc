// An archive with an index of variable-length numbers: the third byte of a number is shifted by one bit too few. The
// file whose offset is that large is read from the wrong place, and its name from nowhere.
//
// frames: NameLength Show List main
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

struct File {
  const char* name;
#ifdef CHANGED
  short rights = 0644;
#endif
  unsigned size;
};

using Bytes = std::vector<unsigned char>;

void PutNumber(Bytes& out, unsigned number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<unsigned char>(number | 0x80));
  out.push_back(static_cast<unsigned char>(number));
}

__attribute__((noinline)) unsigned GetNumber(const Bytes& bytes, size_t& at) {
  unsigned number = 0;
#ifdef FIXED
  const int shifts[] = {0, 7, 14, 21, 28};
#else
  const int shifts[] = {0, 7, 13, 21, 28};
#endif
  for (int i = 0;; ++i) {
    unsigned char byte = bytes[at++];
    number |= (byte & 0x7fu) << shifts[i];
    if (!(byte & 0x80)) return number;
  }
}

// The files' heads lie in a table; the index has their places.
struct Archive {
  std::vector<File> table;
  Bytes index;
  unsigned count = 0;

  void Add(const char* name, unsigned place, unsigned size) {
    if (table.size() <= place) table.resize(place + 1);
    table[place].name = name;
    table[place].size = size;
    PutNumber(index, place);
    ++count;
  }

  __attribute__((noinline)) std::vector<unsigned> Places() const {
    std::vector<unsigned> places;
    size_t at = 0;
    for (unsigned i = 0; i < count; ++i) places.push_back(GetNumber(index, at));
    return places;
  }
};

__attribute__((noinline)) size_t NameLength(const File& file) { return std::strlen(file.name); }  // split

__attribute__((noinline)) std::string Show(const File& file, size_t width) {
  std::string line(NameLength(file), 'n');
  line.resize(width, ' ');
  return line + std::to_string(file.size);
}

class Listing {
 public:
  explicit Listing(const Archive& archive) : archive_(archive), places_(archive.Places()) {}

  __attribute__((noinline)) size_t List(size_t width) {
    size_t letters = 0;
    for (unsigned place : places_) {
      letters += Show(archive_.table[place], width).size();
      ++lines_;
    }
    return letters;
  }

  int lines() const { return lines_; }

 private:
  const Archive& archive_;
  std::vector<unsigned> places_;
  int lines_ = 0;
};

int main() {
  Archive archive;
  archive.Add("readme", 3, 100);
  archive.Add("main.c", 200, 2000);
  archive.Add("picture", 5000, 70000);
  archive.Add("sound", 20000, 900000);
  Listing listing(archive);
  size_t letters = listing.List(20);
  std::printf("%zu %d\n", letters, listing.lines());
}
