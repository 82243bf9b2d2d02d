#include "testgen/replay/plan/load_order.h"

#include <link.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "agent/base/text.h"
#include "agent/elf/elf_image.h"

namespace recrash {
namespace {

template <typename T>
bool ReadStruct(const Report& report, uint64_t address, T* out) {
  uint8_t bytes[sizeof(T)];
  if (!report.Read({address}, bytes)) return false;
  std::memcpy(out, bytes, sizeof bytes);
  return true;
}

}  // namespace

TargetAddress FindDebuggersList(const Report& report) {
  const auto is_loader = [](const Module& module) { return BaseName(module.path).starts_with("ld-linux"); };
  const auto loader = std::ranges::find_if(report.modules, is_loader);
  if (loader == report.modules.end()) return {};
  const Result<ElfImage> image = ElfImage::Open(loader->path);
  if (!image || image->facts().build_id != loader->build_id) return {};
  TargetAddress list;
  image->VisitSymbols([&](const ElfSymbol& symbol) {
    if (symbol.name == "_r_debug") list = loader->base + symbol.address;
  });
  return list;
}

std::vector<TargetAddress> LinkMaps(const Report& report, TargetAddress list) {
  r_debug head{};
  if (list.value == 0 || !ReadStruct(report, list.value, &head)) return {};
  std::vector<TargetAddress> maps;
  std::set<uint64_t> seen;  // the list may have been overwritten
  for (auto at = reinterpret_cast<uint64_t>(head.r_map); at != 0;) {
    link_map map{};
    if (!seen.insert(at).second || !ReadStruct(report, at, &map)) return {};
    maps.push_back({at});
    at = reinterpret_cast<uint64_t>(map.l_next);
  }
  return maps;
}

std::vector<uint32_t> LoadOrder(const Report& report, TargetAddress list) {
  std::vector<uint32_t> order;
  for (const TargetAddress at : LinkMaps(report, list)) {
    link_map map{};
    if (!ReadStruct(report, at.value, &map)) return {};
    const auto is_it = [&](const Module& module) {
      const auto table = reinterpret_cast<uint64_t>(map.l_ld);  // lies in the module, wherever that was linked for
      return table >= module.base.value && table - module.base.value < module.size;
    };
    const auto module = std::ranges::find_if(report.modules, is_it);
    if (module != report.modules.end()) order.push_back(static_cast<uint32_t>(module - report.modules.begin()));
  }
  return order;
}

}  // namespace recrash
