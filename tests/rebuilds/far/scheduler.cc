// A queue of timers in a heap: cancelling one moves the last into its place, and does not tell it. A later cancellation
// takes the wrong timer out; the right one fires for a connection that is closed.
//
// frames: Expire Fire RunUntil main
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Connection;

struct Timer {
  long due;
  Connection* owner;
  int place;
};

struct Stream {
  std::string name;
  long bytes = 0;
};

struct Connection {
  std::unique_ptr<Stream> stream;
#ifdef CHANGED
  bool secure = false;
#endif
  Timer* timer = nullptr;
  int timeouts = 0;

  __attribute__((noinline)) long Expire(long now) {
    timer = nullptr;
    ++timeouts;
    stream->bytes += now;  // split
    return stream->bytes + static_cast<long>(stream->name.size());
  }
};

class Timers {
 public:
  Timer* Add(long due, Connection* owner) {
    timers_.push_back(std::make_unique<Timer>(Timer{due, owner, static_cast<int>(heap_.size())}));
    Timer* timer = timers_.back().get();
    heap_.push_back(timer);
    Up(timer->place);
    return timer;
  }

  __attribute__((noinline)) void Cancel(Timer* timer) {
    int place = timer->place;
    std::swap(heap_[place], heap_.back());
#ifdef FIXED
    heap_[place]->place = place;
#endif
    heap_.pop_back();
    if (place < static_cast<int>(heap_.size())) {
#ifdef FIXED
      Up(place);
#endif
      Down(place);
    }
  }

  Timer* Take() {
    Swap(0, static_cast<int>(heap_.size()) - 1);
    Timer* first = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) Down(0);
    return first;
  }

  bool Due(long now) const { return !heap_.empty() && heap_.front()->due <= now; }

 private:
  void Swap(int a, int b) {
    std::swap(heap_[a], heap_[b]);
    heap_[a]->place = a;
    heap_[b]->place = b;
  }
  void Up(int at) {
    for (; at > 0 && heap_[at]->due < heap_[(at - 1) / 2]->due; at = (at - 1) / 2) Swap(at, (at - 1) / 2);
  }
  void Down(int at) {
    for (int size = static_cast<int>(heap_.size());;) {
      int least = at;
      for (int child : {2 * at + 1, 2 * at + 2})
        if (child < size && heap_[child]->due < heap_[least]->due) least = child;
      if (least == at) return;
      Swap(at, least);
      at = least;
    }
  }

  std::vector<std::unique_ptr<Timer>> timers_;
  std::vector<Timer*> heap_;
};

class Server {
 public:
  void Open(int number, long due) {
    auto connection = std::make_unique<Connection>();
    connection->stream = std::make_unique<Stream>(Stream{"stream " + std::to_string(number)});
    connection->timer = timers_.Add(due, connection.get());
    connections_.push_back(std::move(connection));
  }

  void Close(int number) {
    Connection& connection = *connections_[number];
    if (connection.timer) timers_.Cancel(connection.timer);
    connection.timer = nullptr;
    connection.stream.reset();
  }

  __attribute__((noinline)) long RunUntil(long end) {
    long sum = 0;
    for (long now = 0; now <= end; ++now)
      while (timers_.Due(now)) sum += Fire(now);
    return sum;
  }

 private:
  __attribute__((noinline)) long Fire(long now) {
    Timer* timer = timers_.Take();
    return timer->owner->Expire(now);
  }

  Timers timers_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

int main() {
  Server server;
  for (int i = 0; i < 12; ++i) server.Open(i, 10 + i);
  server.Close(5);
  server.Close(11);
  std::printf("%ld\n", server.RunUntil(40));
}
