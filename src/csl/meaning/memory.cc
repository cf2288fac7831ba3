// The tile's memory: addresses are given in the order in which globals are first named.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

std::uint32_t Evaluator::allocate(std::uint32_t bytes, std::uint32_t alignment, std::string name,
                                  Position at) {
  used_ = (used_ + alignment - 1) / alignment * alignment;
  const std::uint32_t address = used_;
  used_ += bytes;
  // Beyond SRAM addresses repeat; the check says so and nothing runs.
  if (program_->symbols.size() < 100'000) {
    program_->symbols.push_back({std::move(name), at, address, bytes});
  }
  if (used_ <= kSramBytes) program_->image.resize(used_);
  if (used_ > (1u << 30)) used_ = 1u << 30;
  return address;
}

void Evaluator::write_image(std::uint32_t address, const Value& value, const Type* type,
                            Position at) {
  if (!value.ok() || value.type->is(TypeKind::undefined)) return;
  if (!value.known()) {
    wrong(at, "this value is not known at compile time");
    return;
  }
  if (type->is(TypeKind::array) || type->is(TypeKind::structure)) {
    if (!value.parts) return;
    std::uint32_t to = address;
    for (std::size_t k = 0; k < value.parts->count; ++k) {
      const Value& item = value.parts->items[value.parts->same ? 0 : k];
      const Type* item_type = type->is(TypeKind::array) ? type->element : type->types[k];
      if (to + item_type->bytes > kSramBytes) return;
      write_image(to, item, item_type, at);
      to += item_type->bytes;
    }
    return;
  }
  const std::uint32_t bytes = bytes_of(type->scalar);
  if (address + bytes > program_->image.size()) return;
  const auto bits = static_cast<std::uint64_t>(bits_of_known(value));
  for (std::uint32_t k = 0; k < bytes; ++k) {
    program_->image[address + k] = static_cast<std::uint8_t>(bits >> (8 * k));
  }
}

Value Evaluator::memory_value(const Type* type, std::uint32_t address, std::uint16_t held) {
  Value made;
  made.where = Where::memory;
  made.type = type;
  made.address = address;
  made.held = held;
  return made;
}

std::uint32_t Evaluator::address_of_known(const Value& value, const Type* type, Position at) {
  if (value.parts) {
    const auto found = kept_constants_.find(value.parts.get());
    if (found != kept_constants_.end()) return found->second.second;
  }
  const std::uint32_t address = allocate(type->bytes, type->bytes >= 4 ? 4 : 2, "constant", at);
  write_image(address, value, type, at);
  if (value.parts) kept_constants_[value.parts.get()] = {value.parts, address};
  return address;
}

Value Evaluator::global_in_memory(Module& module, const Declaration& declaration, Position at) {
  Value value = global(module, declaration, at);
  if (!value.ok() || value.where == Where::memory) return value;
  Global& place = module.globals[&declaration];
  const Type* type = value.type;
  if (!type->is_runtime()) {
    return wrong(at,
                 "'" + std::string(declaration.name) + "' of type " + type->name +
                     " is known at compile time only and has no address",
                 "Give it a type with a size, as i16 or f32.");
  }
  if (!place.address) {
    place.address = allocate(type->bytes, type->bytes >= 4 ? 4 : 2, std::string(declaration.name),
                             declaration.at);
    write_image(*place.address, value, type, at);
  }
  Value made = memory_value(type, *place.address);
  made.constant = true;
  return made;
}

/// A value with an address: constants are written to memory, registers are stored there.
Value Evaluator::in_memory(Value value, Position at) {
  if (!value.ok() || value.where == Where::memory) return value;
  if (program_ == nullptr) return wrong(at, "a layout has no memory", "Use a const.");
  const Type* type = value.type;
  if (!type->is_runtime()) {
    return wrong(at, "a value of type " + type->name + " has no address");
  }
  if (value.known()) {
    Value made = memory_value(type, address_of_known(value, type, at));
    made.constant = true;
    return made;
  }
  Value made = memory_value(type, allocate(type->bytes, type->bytes >= 4 ? 4 : 2, "temporary", at));
  store(made, value, at);
  return made;
}

void Evaluator::store(const Value& place, const Value& value, Position at) {
  if (!place.ok() || !value.ok() || value.type->is(TypeKind::undefined)) return;
  const Type* type = place.type;
  if (!type->is_aggregate()) {
    const std::uint16_t from = in_register(value, at);
    emit({.code = Code::store,
          .scalar = type->scalar,
          .a = from,
          .b = place.held,
          .where = static_cast<std::int32_t>(place.address)},
         at);
    return;
  }
  const std::size_t count =
      type->is(TypeKind::array) ? static_cast<std::size_t>(type->length()) : type->types.size();
  if (count > 64 && type->is(TypeKind::array) &&
      !(value.known() && value.parts && !value.parts->same)) {
    // A loop over the elements: counter, address of the target, and of the source.
    const Type* item = type->element;
    if (item->is_aggregate()) {
      wrong(at, "copying an array of " + item->name + " is not supported yet",
            "Copy its elements.");
      return;
    }
    const std::uint16_t counter = fresh(at), step = constant_register(1, at),
                        end = constant_register(static_cast<std::int64_t>(count), at),
                        test = fresh(at), element = fresh(at), target = fresh(at),
                        source = fresh(at);
    const bool same = value.known();
    emit({.code = Code::move, .a = counter, .b = constant_register(0, at)}, at);
    if (same)
      emit({.code = Code::move, .a = element, .b = in_register(value.parts->items[0], at)}, at);
    const auto top = static_cast<std::int32_t>(builder().code.code.size());
    const auto advance = [&](std::uint16_t to, std::uint16_t base) {
      emit({.code = Code::address,
            .a = to,
            .b = base,
            .c = counter,
            .where = static_cast<std::int32_t>(item->bytes)},
           at);
    };
    if (!same) {
      advance(source, value.held);
      emit({.code = Code::load,
            .scalar = item->scalar,
            .a = element,
            .b = source,
            .where = static_cast<std::int32_t>(value.address)},
           at);
    }
    advance(target, place.held);
    emit({.code = Code::store,
          .scalar = item->scalar,
          .a = element,
          .b = target,
          .where = static_cast<std::int32_t>(place.address)},
         at);
    emit({.code = Code::compute,
          .op = Operator::add,
          .scalar = Scalar::u16,
          .a = counter,
          .b = counter,
          .c = step},
         at);
    emit({.code = Code::compare,
          .op = Operator::greater_equal,
          .scalar = Scalar::u16,
          .a = test,
          .b = counter,
          .c = end},
         at);
    emit({.code = Code::jump_unless, .a = test, .where = top}, at);
    return;
  }
  std::uint32_t offset = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Type* item_type = type->is(TypeKind::array) ? type->element : type->types[k];
    Value to = memory_value(item_type, place.address + offset, place.held);
    Value from;
    if (value.parts) {
      from = value.parts->items[value.parts->same ? 0 : k];
      from = coerced(from, item_type, at);
    } else {
      from = loaded(memory_value(item_type, value.address + offset, value.held), at);
    }
    store(to, from, at);
    offset += item_type->bytes;
  }
}

}  // namespace tensorpress::csl
