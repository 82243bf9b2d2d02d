struct Pool {};
int size = Pool::template capacity
