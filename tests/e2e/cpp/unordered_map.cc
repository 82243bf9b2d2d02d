// std::unordered_map: a bucket's entry is erased while a pointer to it is held.
//
// frames: Value Refresh main
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>

struct Session {
  std::shared_ptr<std::string> user;
  int hits = 0;
};

using Sessions = std::unordered_map<int, Session>;

__attribute__((noinline)) size_t Value(const Session& session) { return session.user->size() + session.hits; }  // split

__attribute__((noinline)) size_t Refresh(Sessions& sessions, int id) {
  Session& session = sessions[id];
  ++session.hits;
  if (session.hits > 1) {
#ifdef FIXED
    size_t value = Value(session);
    sessions.erase(id);
    return value;
#else
    session.user.reset();
#endif
  }
  return Value(session);
}

int main() {
  Sessions sessions;
  for (int i = 0; i < 20; ++i) sessions[i].user = std::make_shared<std::string>("user " + std::to_string(i));
  size_t sum = 0;
  for (int i : {3, 4, 5, 4}) sum += Refresh(sessions, i);
  std::printf("%zu\n", sum);
}
