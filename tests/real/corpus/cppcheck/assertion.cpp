int checked(int total) {
    assert(total ! ++);
    return total;
}
