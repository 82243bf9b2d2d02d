struct Node {};
Node * register
