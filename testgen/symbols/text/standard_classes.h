// Shows classes of libstdc++ and libc++ by what they hold: people want the text, not _M_dataplus.
//
// A table (standard_classes.cc) has a row for each class: its library, its name, how it is shown, and the members that
// say where its contents lie. Sizes and pointers are checked against each other first. A container that contradicts
// itself was never made, or was overwritten, and is shown as that.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_STANDARD_CLASSES_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_STANDARD_CLASSES_H_

#include <optional>

#include "testgen/symbols/text/value_builder.h"

namespace recrash {

// Returns nothing if the class is none of the table's; it is shown by its members then.
std::optional<Shown> StandardClass(ValueBuilder& builder, const Object& object, Reached reached);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_STANDARD_CLASSES_H_
