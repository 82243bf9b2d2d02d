// A profile. What was understood of it is understood again when it has been written.
#include "agent/report/profile.h"

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recrash;
  const Profile profile = ParseProfile({reinterpret_cast<const char*>(data), size});
  const std::string text = ProfileText(profile);
  const Profile again = ParseProfile(text);
  if (again.damaged != 0 || again.functions.size() != profile.functions.size() || ProfileText(again) != text)
    std::abort();
  Profile merged = profile;
  MergeProfile(again, &merged);
  return 0;
}
