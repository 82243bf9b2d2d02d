struct list { int length; };
struct list::node
