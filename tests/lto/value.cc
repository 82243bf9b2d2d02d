// Reads nested lists of numbers through a cursor of another unit: what link-time optimisation is for.
#include "cursor.h"
static bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }
static long Number(Cursor* cursor) {
  long value = 0;
  while (!cursor->Done() && IsDigit(cursor->Peek())) value = value * 10 + (cursor->Take() - '0');
  return value;
}
long Value(Cursor* cursor) {
  if (cursor->Done()) throw cursor->line;
  if (cursor->Peek() != '(') return Number(cursor);
  long sum = 0;
  cursor->Take();
  while (!cursor->Done() && cursor->Peek() != ')') {
    sum += Value(cursor);
    while (!cursor->Done() && (cursor->Peek() == ' ' || cursor->Peek() == '\n')) cursor->Take();
  }
  if (!cursor->Done()) cursor->Take();
  return sum;
}
