// A block is read after its owner has freed it.
#include <cstdio>
#include <cstdlib>

struct Session {
  const char* user;
  int requests;
};

__attribute__((noinline)) Session* Open(const char* user) {
  auto* session = static_cast<Session*>(std::malloc(sizeof(Session)));
  session->user = user;
  session->requests = 0;
  return session;
}

__attribute__((noinline)) void Close(Session* session) {
  std::free(session);  // cause
}

__attribute__((noinline)) char Initial(const Session* session) { return session->user[0]; }

int main() {
  Session* session = Open("ann");
  char first = Initial(session);
  Close(session);
  std::printf("%c%c\n", first, Initial(session));
}
