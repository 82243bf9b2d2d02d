void drain(int count) {
    for (;; count & --)
        ;
}
