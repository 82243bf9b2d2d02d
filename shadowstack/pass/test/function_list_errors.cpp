// A list that is not there or not understood ends the compilation with a sentence that names file and line.
// RUN: split-file %s %t
// RUN: not %clangxx -mllvm -recrash-list=%t/missing.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: recrash: {{.*}}missing.list: No such file or directory
// RUN: not %clangxx -mllvm -recrash-list=%t/kind.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: recrash: {{.*}}kind.list:3: expected fun:, src: or type: and a pattern, found: func:foo
// RUN: not %clangxx -mllvm -recrash-list=%t/word.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: recrash: {{.*}}word.list:2: expected fun:, src: or type: and a pattern, found: foo
// RUN: not %clangxx -mllvm -recrash-list=%t/empty.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: recrash: {{.*}}empty.list:1: expected fun:, src: or type: and a pattern, found: fun:
// RUN: not %clangxx -mllvm -recrash-list=%t/wish.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=WISH
// WISH: error: recrash: {{.*}}wish.list:1: expected never, always, depth=0, depth=1 or depth=2 after =, found: fun:foo=depth=3
// RUN: not %clangxx -mllvm -recrash-list=%t/glob.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: recrash: {{.*}}glob.list:2: not a pattern: fun:[z
// RUN: not %clangxx -mllvm -recrash-list=%t/section.list -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=SECTION
// SECTION: error: recrash: {{.*}}section.list:1: not a section: [recrash
// RUN: not %clangxx -mllvm -recrash-depth=3 -c %t/program.cpp -o %t.o 2>&1 | FileCheck %s --check-prefix=DEPTH
// DEPTH: error: recrash: -recrash-depth=3: the depth is 0, 1 or 2

//--- program.cpp
int f(int* p) { return *p; }
//--- kind.list
# comment

func:foo
//--- word.list
fun:bar
foo
//--- empty.list
fun:
//--- wish.list
fun:foo=depth=3
//--- glob.list
fun:good
fun:[z
//--- section.list
[recrash
