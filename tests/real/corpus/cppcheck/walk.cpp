void walk(int first) {
    for ((first) next)
        first = first + 1;
}
