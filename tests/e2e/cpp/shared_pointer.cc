// std::weak_ptr: what it observed is gone.
//
// frames: Beat Play main
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

struct Song {
  std::string title;
#ifdef CHANGED
  std::vector<int> notes;
#endif
  int beats;
};

struct Player {
  std::weak_ptr<Song> current;
  int played = 0;
};

__attribute__((noinline)) int Beat(Player& player) {
  auto song = player.current.lock();
#ifdef FIXED
  if (!song) return 0;
#endif
  return song->beats * ++player.played;  // split
}

// part
__attribute__((noinline)) int Play(Player& player, std::vector<std::shared_ptr<Song>>& songs) {
  int beats = 0;
  while (!songs.empty()) {
    player.current = songs.back();
    beats += Beat(player);
    songs.pop_back();
    if (songs.size() == 1) songs.clear();
    beats += Beat(player);
  }
  return beats;
}
// end part

int main() {
  Player player;
  std::vector<std::shared_ptr<Song>> songs;
  auto kept = std::make_shared<Song>();
  kept->title = "kept";
  for (int i = 0; i < 3; ++i) songs.push_back(std::make_shared<Song>());
  songs.push_back(kept);
  std::printf("%d\n", Play(player, songs));
}
