// How the parameters of frames lie in the build that is replayed, so that tests can give values to parts of them.
#include <algorithm>

#include "agent/base/printable_text.h"
#include "testgen/literals/find_literals.h"
#include "testgen/replay/plan/plan_parts.h"

namespace recrash {

uint32_t PlanBuilder::PlaceShape(PlannedShapes* planned, uint32_t number) {
  if (number == 0) return 0;
  if (const auto known = planned->places.find(number); known != planned->places.end()) return known->second;
  const auto place = static_cast<uint32_t>(shapes_.size());
  planned->places.emplace(number, place);
  shapes_.emplace_back();
  const Shape& shape = (*planned->shapes)[number];
  plan::Shape out{};
  out.kind = shape.kind;
  // The elements of a container are made where there were none.
  const bool holds = shape.kind == ShapeKind::kVector || shape.kind == ShapeKind::kOptional;
  if (holds && !planned->shapes->IsWhole(shape.element)) out.kind = ShapeKind::kOpaque;
  out.element = PlaceShape(planned, shape.element);
  out.size = shape.size;
  out.count = shape.count;
  out.offset = shape.offset;
  out.is_signed = shape.is_signed;
  out.is_character = shape.is_character;
  out.name = AddText(PrintableText(shape.name));
  std::vector<plan::ShapeMember> members;
  for (const ShapeMember& member : shape.members)
    members.push_back(
        {AddText(member.name), PlaceShape(planned, member.shape), member.offset, member.bit_offset, member.bit_size});
  out.members = AddTable(members);
  std::vector<plan::Enumerator> enumerators;
  for (const auto& [value, name] : shape.enumerators) enumerators.push_back({value, AddText(name), 0});
  out.enumerators = AddTable(enumerators);
  shapes_[place] = out;
  return place;
}

void PlanBuilder::AddLiterals(const ReplayFrame& frame, plan::Frame* planned) {
  std::vector<plan::Literal> literals;
  for (const ReplayLiteral& literal : frame.literals) literals.push_back({literal.digest, AddText(literal.path), 0});
  planned->literals = AddTable(literals);

  const int module = ModuleAt(frame.function_address().value);
  const std::vector<TypeLayout>* types = nullptr;
  const std::vector<ReplayParameter>* built = &frame.parameters;
  if (const auto other = options_.parameters.find(frame.index); other != options_.parameters.end()) {
    types = other->second.types.get();
    built = &other->second.parameters;
  } else if (module >= 0 && !rebuilt_[module]) {
    const ModuleImage* image = report_.replay.FindImage(report_.modules[module]);
    types = image ? &image->types : nullptr;
  }
  if (!types) return;
  PlannedShapes& shapes = shapes_of_[types];
  if (!shapes.shapes) shapes.shapes = std::make_unique<Shapes>(*types);
  std::vector<plan::Parameter> parameters;
  for (size_t i = 0; i < std::min(frame.parameters.size(), built->size()); ++i) {
    const ReplayParameter& parameter = frame.parameters[i];
    if (parameter.number == 0) continue;
    const uint32_t shape = PlaceShape(&shapes, shapes.shapes->Add((*built)[i].type));
    parameters.push_back({AddText(LiteralName(parameter)), parameter.number, shape, parameter.indirect});
  }
  planned->parameters = AddTable(parameters);
}

}  // namespace recrash
