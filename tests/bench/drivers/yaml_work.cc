// yaml_work FILE OUT: parses a file of documents one after the other, walks each, looks keys up and emits it again.
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <iostream>
#include <string>

namespace {

struct Totals {
  unsigned long nodes = 0;
  unsigned long bytes = 0;
  long sum = 0;
};

void Walk(const YAML::Node& node, Totals& totals) {
  ++totals.nodes;
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      totals.bytes += node.Scalar().size();
      break;
    case YAML::NodeType::Sequence:
      for (const YAML::Node& element : node) Walk(element, totals);
      break;
    case YAML::NodeType::Map:
      for (const auto& pair : node) {
        Walk(pair.first, totals);
        Walk(pair.second, totals);
      }
      break;
    default:
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream in(argv[1]);
  std::ofstream out(argv[2]);
  if (!in || !out) return 1;
  Totals totals;
  // LoadAll would hold all of them at once: gigabytes, of 50 MB. A document ends with a line of its own.
  std::string document, line;
  while (std::getline(in, line)) {
    if (line != "...") {
      document += line;
      document += '\n';
      continue;
    }
    const YAML::Node node = YAML::Load(document);
    Walk(node, totals);
    for (const YAML::Node& order : node["orders"]) totals.sum += order["number"].as<long>();
    YAML::Emitter emitter;
    emitter << node;
    out << emitter.c_str() << "\n...\n";
    document.clear();
  }
  std::cout << totals.nodes << " nodes, " << totals.bytes << " bytes, " << totals.sum << "\n";
  return out ? 0 : 1;
}
