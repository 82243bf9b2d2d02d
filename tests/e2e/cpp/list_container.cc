// std::list: the loop goes on from an element that it has erased.
//
// frames: Expire main
#include <cstdio>
#include <list>
#include <string>

struct Note {
  int day;
  std::string text;
};

__attribute__((noinline)) int Expire(std::list<Note>& notes, int today) {
  int kept = 0;
  for (auto note = notes.begin(); note != notes.end();) {
    if (note->day < today) {
#ifdef FIXED
      note = notes.erase(note);
      continue;
#else
      notes.erase(note);
#endif
    }
    kept += static_cast<int>(note->text.size() > 4);
    ++note;
  }
  return kept;
}

int main() {
  std::list<Note> notes;
  for (int i = 0; i < 12; ++i) notes.push_back({i, "note " + std::to_string(i)});
  std::printf("%d\n", Expire(notes, 5));
}
