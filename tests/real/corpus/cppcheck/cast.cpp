int store(int value) {
    keep((long) = value);
    return 0;
}
