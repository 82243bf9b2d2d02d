// Next to nothing: what a build of it has more than the plain one is the runtime that is linked in.
int main(int argc, char** argv) { return argv[argc] != nullptr; }
