struct Cursor {
  const char* at;
  const char* end;
  long line;
  bool Done() const;
  char Peek() const;
  char Take();
};
long Value(Cursor* cursor);
