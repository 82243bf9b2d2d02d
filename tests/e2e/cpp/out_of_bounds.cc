// A write one element behind an array changes the pointer beside it.
//
// frames: Fill Draw main
#include <cstdio>

struct Canvas {
  unsigned long cells[8];
  const char* title;
#ifdef CHANGED
  int colour = 3;
#endif
  int width;
};

__attribute__((noinline)) void Mark(Canvas& canvas, int at) { canvas.cells[at] = 0x20202020ul + at; }

__attribute__((noinline)) int Fill(Canvas& canvas, int last) {
#ifdef FIXED
  for (int i = 0; i < last; ++i) Mark(canvas, i);
#else
  for (int i = 0; i <= last; ++i) Mark(canvas, i);
#endif
  return canvas.title[0] + canvas.width;  // split
}

__attribute__((noinline)) int Draw(Canvas* canvases, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Fill(canvases[i], canvases[i].width);
  return sum;
}

int main() {
  Canvas canvases[2] = {};
  for (Canvas& canvas : canvases) canvas.title = "canvas";
  canvases[0].width = 4;
  canvases[1].width = 8;
  std::printf("%d\n", Draw(canvases, 2));
}
