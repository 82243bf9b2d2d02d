// Small functions that each link-time optimisation inlines into their callers in another unit.
#include "cursor.h"
bool Cursor::Done() const { return at >= end; }
char Cursor::Peek() const { return *at; }
char Cursor::Take() {
  line += *at == '\n';
  return *at++;
}
