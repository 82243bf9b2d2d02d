int sum(const int *values) {
    int total = 0;
    for (typedef int number;)
        total += *values;
    return total;
}
