// xml_work FILE OUT TIMES: parses a document, walks it, asks XPath, adds attributes and saves it, so many times over.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pugixml.hpp>

namespace {

struct Totals {
  unsigned long nodes = 0;
  unsigned long bytes = 0;
  unsigned long deepest = 0;
};

class Counter : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    ++totals.nodes;
    totals.bytes += std::strlen(node.name()) + std::strlen(node.value());
    for (pugi::xml_attribute attribute : node.attributes()) totals.bytes += std::strlen(attribute.value());
    if (static_cast<unsigned long>(depth()) > totals.deepest) totals.deepest = static_cast<unsigned long>(depth());
    return true;
  }
  Totals totals;
};

bool Work(const char* file, const char* out) {
  pugi::xml_document document;
  const pugi::xml_parse_result result = document.load_file(file);
  if (!result) {
    std::fprintf(stderr, "xml_work: %s: %s\n", file, result.description());
    return false;
  }
  Counter counter;
  document.traverse(counter);
  const pugi::xpath_node_set chosen = document.select_nodes("//order[@state='open']/item[quantity > 50]");
  double sum = 0;
  for (const pugi::xpath_node& node : chosen) {
    sum += node.node().child("price").text().as_double() * node.node().child("quantity").text().as_int();
    node.node().append_attribute("chosen") = true;
  }
  std::printf("%lu nodes, %lu bytes, depth %lu, %zu chosen, %.2f\n", counter.totals.nodes, counter.totals.bytes,
              counter.totals.deepest, chosen.size(), sum);
  return document.save_file(out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  for (int left = std::atoi(argv[3]); left > 0; --left) {
    if (!Work(argv[1], argv[2])) return 1;
  }
  return 0;
}
