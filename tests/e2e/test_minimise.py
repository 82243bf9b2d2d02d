#!/usr/bin/env python3
"""What matters in a crash, in programs of which it is known: `recrash minimise`."""

import json
import signal
import unittest

import harness

BEGIN = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>
#define OUTLINE __attribute__((noinline))
volatile long sink;
"""

# The third of three hundred nodes leads to none, and the walk does not look.
LIST = BEGIN + """
struct Node { long value; Node* next; char rest[40]; };
struct Chain { Node* first; long length; };
OUTLINE long Sum(const Chain& chain) {
  long sum = 0;
  const Node* node = chain.first;
  for (long i = 0; i < 4; ++i) { sum += node->value; node = node->next; }
  return sum;
}
int main() {
  std::vector<Node*> nodes;
  for (int i = 0; i < 300; ++i) nodes.push_back(new Node{i, nullptr, {}});
  for (int i = 0; i + 1 < 300; ++i) nodes[i]->next = nodes[i + 1];
  nodes[2]->next = nullptr;
  Chain chain{nodes[0], 300};
  sink = Sum(chain);
}
"""

# A length that is too large for the table.
LENGTH = BEGIN + """
struct Table { long length; long other; unsigned char* cells; };
OUTLINE long Sum(const Table* table) {
  long sum = 0;
  for (long i = 0; i < table->length; ++i) sum += table->cells[i];
  return sum;
}
int main() {
  Table table{1 << 30, 7, static_cast<unsigned char*>(std::malloc(64))};
  std::memset(table.cells, 1, 64);
  sink = Sum(&table);
}
"""

# Both have to be as they are. The name, the noise and the rest of the options do not matter.
TWO = BEGIN + """
struct Options { std::string name; int mode; int noise[20]; int level; };
OUTLINE void Check(const Options* options) {
  if (options->mode == 41 && options->level == 43) std::abort();
  sink = 1;
}
int main() {
  auto options = std::make_unique<Options>();
  options->name = "a name that needs a block of its own";
  options->mode = 41;
  options->level = 43;
  for (int& one : options->noise) one = 3;
  Check(options.get());
}
"""

# `fatal` is why it fails. The pointers only lead there: with others it fails elsewhere.
CONTEXT = BEGIN + """
struct Leaf { long other; bool fatal; };
struct Branch { Leaf* leaf; long other; };
OUTLINE void Check(Branch* branch) {
  if (branch->leaf->fatal) std::abort();
  sink = 1;
}
int main() {
  Branch branch{new Leaf{5, true}, 6};
  Check(&branch);
}
"""

# With 0 in its place there is no end; other values make it fail at once.
LOOP = BEGIN + """
struct Steps { long step; long end; int* target; };
OUTLINE void Walk(const Steps* steps) {
  for (long at = 0; at != steps->end; at += steps->step) sink = at;
  *steps->target = 1;
}
int main() {
  auto steps = std::make_unique<Steps>(Steps{1, 10, nullptr});
  Walk(steps.get());
}
"""

# An address that no processor has fails like a null pointer: SIGSEGV, at the same place, of address 0.
NULL = BEGIN + """
struct Box { long other; long* value; };
OUTLINE long Take(const Box* box) { return *box->value; }
int main() {
  auto box = std::make_unique<Box>(Box{1, nullptr});
  sink = Take(box.get());
}
"""

GLOBAL = BEGIN + """
struct Settings { long size; const char* name; } settings = {100, nullptr};
long unused[1000] = {1, 2, 3};
OUTLINE long Length() { return settings.size + static_cast<long>(std::strlen(settings.name)); }
int main() { sink = Length(); }
"""

# What a freed block still holds.
FREED = BEGIN + """
struct Session { long links[2]; long other; long* last; };
OUTLINE long Last(const Session* session) { return *session->last; }
int main() {
  auto* session = new Session{{}, 3, reinterpret_cast<long*>(8)};
  delete session;
  sink = Last(session);
}
"""

OVERFLOW = BEGIN + """
OUTLINE long Deeper(long n) { volatile char room[4096]; room[0] = static_cast<char>(n); return Deeper(n + 1) + room[0]; }
int main() { sink = Deeper(0); }
"""


class Minimise(harness.Workspace):
    def report_of(self, text, died_of=signal.SIGSEGV, flags=("-O1", "-g")):
        self.program = self.compile_text(text, flags=flags)
        return self.crash(self.program, died_of=died_of)

    def minimise(self, target, *options, expect=0):
        self.output = self.run_command("recrash", "minimise", target, "--program", self.program, "--json", "-", "--timeout", "60", *options,
                                       expect=expect)
        return json.loads(self.output.stdout) if expect == 0 else self.output.stderr

    def items(self, found):
        return {item["path"]: (item["value"], item["role"]) for item in found["items"]}

    def assert_minimal(self, found, *paths):
        self.assertEqual(sorted(item["path"] for item in found["items"]), sorted(paths), json.dumps(found, indent=1))
        self.assertEqual(found["agreeing_fills"], found["fills"], json.dumps(found, indent=1))
        self.assertEqual(found["limits"], "")

    def test_a_null_pointer_in_one_of_hundreds_of_blocks(self):
        found = self.minimise(self.report_of(LIST))
        self.assert_minimal(found, "chain", "chain.first", "chain.first->next", "chain.first->next->next",
                            "chain.first->next->next->next")
        items = self.items(found)
        self.assertEqual(items["chain.first->next->next->next"], ("nullptr", "culprit"))
        self.assertGreater(found["given_parts"], 300)
        self.assertLessEqual(found["parts"], 5)

    def test_a_length(self):
        found = self.minimise(self.report_of(LENGTH))
        self.assert_minimal(found, "table", "table->length", "table->cells")
        items = self.items(found)
        self.assertEqual(items["table->length"], (str(1 << 30), "culprit"))
        self.assertEqual(items["table"][1], "context")

    def test_two_words_that_both_matter(self):
        found = self.minimise(self.report_of(TWO, died_of=signal.SIGABRT))
        self.assert_minimal(found, "options", "options->mode", "options->level")
        items = self.items(found)
        self.assertEqual(items["options->mode"], ("41", "culprit"))
        self.assertEqual(items["options->level"], ("43", "culprit"))

    def test_what_leads_there_is_context(self):
        found = self.minimise(self.report_of(CONTEXT, died_of=signal.SIGABRT))
        self.assert_minimal(found, "branch", "branch->leaf", "branch->leaf->fatal")
        self.assertEqual(self.items(found)["branch->leaf->fatal"], ("true", "culprit"))
        leaf = next(item for item in found["items"] if item["path"] == "branch->leaf->fatal")
        self.assertEqual(leaf["mask"], 1)

    def test_an_endless_loop_is_given_up(self):
        found = self.minimise(self.report_of(LOOP))
        self.assertIn("steps->target", self.items(found))
        self.assertIn("steps->step", self.items(found))
        self.assertEqual(found["limits"], "")

    def test_no_address_is_not_taken_for_null(self):
        found = self.minimise(self.report_of(NULL))
        self.assert_minimal(found, "box", "box->value")
        self.assertEqual(self.items(found)["box->value"], ("nullptr", "culprit"))

    def test_a_global(self):
        found = self.minimise(self.report_of(GLOBAL))
        self.assert_minimal(found, "settings.name")

    def test_what_a_freed_block_holds(self):
        found = self.minimise(self.report_of(FREED))
        self.assert_minimal(found, "session", "session->last")
        self.assertEqual({item["kind"] for item in found["items"]}, {"register", "freed block"})

    def test_the_depth_of_an_overflow(self):
        found = self.minimise(self.report_of(OVERFLOW))
        self.assertTrue(any("depth" in note for note in found["notes"]), found["notes"])

    def test_ten_seeds_find_the_same(self):
        report = self.report_of(LIST)
        found = {json.dumps(self.minimise(report, "--seed", seed)["items"]) for seed in range(10)}
        self.assertEqual(len(found), 1, found)

    def test_a_folder_of_tests(self):
        report = self.report_of(CONTEXT, died_of=signal.SIGABRT)
        self.reproduce(self.program, report=report)
        from_report, from_tests = self.minimise(report), self.minimise("tests")
        self.assertEqual(self.items(from_tests), self.items(from_report))
        self.assertEqual(from_tests["frame"], from_report["frame"])

    def test_a_frame_outside(self):
        found = self.minimise(self.report_of(LIST), "--frame", 1)
        self.assertEqual(found["frame"], 1)

    def test_a_frame_that_there_is_not(self):
        self.assertIn("frame 99 ", self.minimise(self.report_of(NULL), "--frame", 99, expect=4))

    def test_another_build(self):
        report = self.report_of(NULL)
        self.program = self.compile_text(NULL.replace("1, nullptr", "2, nullptr"), output="other")
        self.assertIn("needed the build that crashed", self.minimise(report, expect=4))

    def test_text(self):
        report = self.report_of(CONTEXT, died_of=signal.SIGABRT)
        text = self.run_command("recrash", "minimise", report, "--program", self.program).stdout
        self.assertRegex(text, r"what matters: 3 words in 3 of \d+ parts of memory "
                               r"\(minimised in \d+\.\d s; 5 of 5 other fills agree\)")
        self.assertIn("branch->leaf->fatal = true   culprit: returns with zeros", text)


if __name__ == "__main__":
    harness.main()
