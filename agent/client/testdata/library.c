// A library of which a program loads many copies.
int loaded = 1;
