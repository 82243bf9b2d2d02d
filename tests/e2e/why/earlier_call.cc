// A request leaves something behind that a later one falls over.
#include <cstdio>

struct Connection {
  int* buffer;
  int open;
};

int g_room[4];
Connection g_connection = {g_room, 1};

__attribute__((noinline)) void Reset(Connection* connection) {
  connection->buffer = nullptr;  // cause
}

__attribute__((noinline)) void Store(Connection* connection, int value) { connection->buffer[value & 3] = value; }

__attribute__((noinline)) void Handle(char request) {
  switch (request) {
    case 'r':
      Reset(&g_connection);
      break;
    case 's':
      Store(&g_connection, request);
      break;
    default:
      g_connection.open = request;
  }
}

int main() {
  for (const char* request = "sxsrxs"; *request; ++request) Handle(*request);
  std::printf("%d\n", g_room[0]);
}
