// What `recrash why` found as SARIF 2.1.0: one result, whose code flow is the trail.
//
//   WriteWhole(SarifText(WhySarif(explanation, fs::current_path())), "why.sarif", "SARIF");
#ifndef RECRASH_INTEGRATIONS_PAGES_WHY_SARIF_H_
#define RECRASH_INTEGRATIONS_PAGES_WHY_SARIF_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "testgen/explain/explanation.h"

namespace recrash::pages {

// Sources below `root` are named relative to it, others as file:// URIs.
nlohmann::ordered_json WhySarif(const explain::Explanation& explanation, const std::filesystem::path& root);

// ASCII alone; what is not UTF-8 becomes U+FFFD.
std::string SarifText(const nlohmann::ordered_json& sarif);

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_WHY_SARIF_H_
