#include <stdio.h>
#include <string.h>

#include "testgen/replay/given/values.h"

namespace recrash::replay {

Path::Path(const char* text) : at_(text) {
  while (*at_ == '*' || *at_ == ' ') ++at_;
}

bool Path::Next() {
  if (*at_ == '.') ++at_;
  if (at_[0] == '-' && at_[1] == '>') at_ += 2;
  size_t size = 0;
  while (at_[size] && at_[size] != '.' && at_[size] != '-') ++size;
  snprintf(word_, sizeof word_, "%.*s", static_cast<int>(size < sizeof word_ ? size : sizeof word_ - 1), at_);
  at_ += size;
  if (size == 0) at_ += strlen(at_);  // "a..b", "a->"
  return size > 0;
}

bool FollowPath(const PlanShapes& shapes, Path* path, plan::ShapeMember* place, char* text, size_t size) {
  while (path->Next()) {
    const plan::Shape& shape = shapes.At(place->shape);
    const plan::ShapeMember* found = nullptr;
    for (const plan::ShapeMember& member : shapes.Rows<plan::ShapeMember>(shape.members))
      if (strcmp(shapes.Text(member.name), path->word()) == 0) found = &member;
    if (!found) {
      snprintf(text, size, "%s has no member `%s` in this build", shapes.Text(shape.name), path->word());
      return false;
    }
    const uint64_t offset = place->offset + found->offset;
    *place = *found;
    place->offset = offset;
  }
  return true;
}

}  // namespace recrash::replay
