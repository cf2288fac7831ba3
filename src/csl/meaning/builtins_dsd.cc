// Builtins that make and change data structure descriptors.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {
namespace {

bool flag(const Value* value) {
  return value != nullptr && value->known() && value->integer != 0;
}

}  // namespace

Value Evaluator::get_dsd(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type* type = type_of(*expr.items[0]);
  if (type == nullptr) return {};
  if (!type->is(TypeKind::dsd))
    return wrong(expr.at,
                 "@get_dsd takes mem1d_dsd, mem4d_dsd, fabin_dsd or fabout_dsd, not " + type->name);
  const Value properties = evaluated(*expr.items[1]);
  if (!properties.ok()) return {};
  if (!properties.type->is(TypeKind::anonymous))
    return wrong(expr.at, "the properties of a DSD are a struct");
  if (program_ == nullptr) return wrong(expr.at, "a layout has no memory and no queues");
  switch (type->dsd) {
    case DsdKind::mem1d:
    case DsdKind::mem4d:
      return memory_dsd(expr, type->dsd, properties);
    case DsdKind::fabin:
    case DsdKind::fabout:
      return fabric_dsd(expr, type->dsd, properties);
    default:
      return wrong(expr.at, type->name + " is not supported yet",
                   "Use mem1d_dsd and change its base address.");
  }
}

Value Evaluator::memory_dsd(const Expr& expr, DsdKind kind, const Value& properties) {
  for (const std::string_view field : properties.type->fields) {
    if (field != "tensor_access" && field != "base_address" && field != "extent" &&
        field != "stride" && field != "offset" && field != "wavelet_index_offset") {
      return wrong(
          expr.at, "a memory DSD has no '" + std::string(field) + "'",
          "It has tensor_access, base_address, extent, stride, offset and wavelet_index_offset.");
    }
  }
  const Value* access = part(properties, "tensor_access");
  const Value& from = access != nullptr ? *access : properties;
  const Value *base = part(from, "base_address"), *extent = part(from, "extent"),
              *offset = part(from, "offset"), *slopes = part(from, "slopes"),
              *stride = part(from, "stride");
  if (base == nullptr || extent == nullptr) {
    return wrong(expr.at, "a memory DSD needs tensor_access, or base_address and extent");
  }
  Value address = *base;
  if (address.type->is(TypeKind::array)) {
    address = in_memory(address, expr.at);
    if (address.ok()) address = known(types_.pointer(address.type, false), address.address);
  }
  if (!address.ok()) return {};
  if (!address.type->is(TypeKind::pointer))
    return wrong(expr.at, "base_address is a pointer, here is " + address.type->name,
                 "Write & in front of the array.");
  const Type* element = address.type->element;
  if (element->is(TypeKind::array)) element = element->element;
  const std::int64_t bytes = element->bytes;
  Descriptor made{.kind = kind};
  made.indexed = flag(part(properties, "wavelet_index_offset"));
  std::int64_t start = address.known() ? static_cast<std::int64_t>(address.integer) : 0;
  if (offset != nullptr && offset->known())
    start += bytes * static_cast<std::int64_t>(offset->integer);
  made.base = static_cast<std::uint16_t>(start);
  std::vector<std::pair<Part, Value>> later;
  if (!address.known()) later.emplace_back(Part::offset, address);  // base 0 plus the pointer
  // Tuples of one element are what a tensor access with one variable gives.
  const auto single = [](const Value* value) -> const Value* {
    if (value == nullptr || !value->parts) return value;
    return value->parts->items.size() == 1 ? &value->parts->items[0] : nullptr;
  };
  if (kind == DsdKind::mem1d) {
    const Value* length = single(extent);
    if (length == nullptr)
      return wrong(expr.at, "a mem1d_dsd has one dimension", "Use mem4d_dsd for up to four.");
    if (!length->type->is_integer())
      return wrong(expr.at, "extent is an integer, here is " + length->type->name);
    if (length->known()) {
      if (length->integer < 0 || length->integer > 0xffff)
        return wrong(expr.at, "extent is 0 to 65535, here is " + shown(*length));
      made.length = static_cast<std::uint16_t>(length->integer);
    } else {
      later.emplace_back(Part::length, *length);
    }
    const Value* by = slopes != nullptr ? single(slopes) : single(stride);
    if (by != nullptr && by->known()) {
      if (by->integer < -128 || by->integer > 127) {
        return wrong(expr.at, "the stride of a mem1d_dsd is -128 to 127, here is " + shown(*by),
                     "Use a mem4d_dsd, whose strides have 16 bits.");
      }
      made.stride = static_cast<std::int8_t>(by->integer);
    } else if (by != nullptr) {
      later.emplace_back(Part::stride, *by);
    }
  } else {
    if (!extent->parts) return wrong(expr.at, "the extent of a mem4d_dsd is a tuple");
    Shape shape;
    const std::size_t dimensions = extent->parts->items.size();
    if (dimensions < 1 || dimensions > 4)
      return wrong(expr.at, "a mem4d_dsd has one to four dimensions");
    shape.dimensions = static_cast<std::uint8_t>(dimensions);
    std::int64_t reset = 0;
    for (std::size_t k = 0; k < dimensions; ++k) {  // k = 0: the fastest, written last
      const Value& length = extent->parts->items[dimensions - 1 - k];
      if (!length.known())
        return wrong(expr.at, "the extent of a mem4d_dsd has to be known at compile time");
      shape.lengths[k] = static_cast<std::uint16_t>(length.integer);
      if (slopes != nullptr) {
        shape.strides[k] =
            static_cast<std::int32_t>(slopes->parts->items[dimensions - 1 - k].integer);
      } else if (stride != nullptr && stride->parts && k < stride->parts->items.size()) {
        // Given as the step from the end of the inner dimensions.
        shape.strides[k] = static_cast<std::int32_t>(
            static_cast<std::int64_t>(stride->parts->items[k].integer) + reset);
      } else {
        shape.strides[k] = static_cast<std::int32_t>(1 + reset);
      }
      reset += std::int64_t{shape.strides[k]} * (shape.lengths[k] - 1);
    }
    made.length = static_cast<std::uint16_t>(program_->shapes.size());
    program_->shapes.push_back(shape);
  }
  const Type* type = types_.dsd(kind);
  Value result = known(type, made.packed());
  if (offset != nullptr && !offset->known()) later.emplace_back(Part::offset, *offset);
  for (std::size_t k = 0; k < later.size(); ++k) {
    if (!runtime())
      return wrong(expr.at, "the properties of this DSD are not known at compile time",
                   "Make it in a function.");
    const auto& [which, value] = later[k];
    const std::uint16_t old = in_register(result, expr.at), to = fresh(expr.at);
    const bool pointer = which == Part::offset && value.type->is(TypeKind::pointer);
    emit({.code = Code::describe,
          .part = static_cast<std::uint8_t>(which),
          .a = to,
          .b = old,
          .c = in_register(value, expr.at),
          .where = static_cast<std::int32_t>(pointer ? 1 : bytes)},
         expr.at);
    result = held_value(type, to);
  }
  return result;
}

Value Evaluator::fabric_dsd(const Expr& expr, DsdKind kind, const Value& properties) {
  static constexpr std::string_view kFields[] = {
      "extent",         "fabric_color",         "input_queue",       "output_queue", "control",
      "advance_switch", "wavelet_index_offset", "control_transform", "zero",         "simd_mode",
      "priority"};
  for (const std::string_view field : properties.type->fields) {
    bool is_field = false;
    for (const std::string_view one : kFields) is_field = is_field || one == field;
    if (!is_field) return wrong(expr.at, "a fabric DSD has no '" + std::string(field) + "'");
  }
  Descriptor made{.kind = kind, .color = 31};
  const Value* extent = part(properties, "extent");
  if (extent == nullptr) return wrong(expr.at, "a fabric DSD needs extent");
  const Value* color = part(properties, "fabric_color");
  const Value* queue = part(properties, kind == DsdKind::fabin ? "input_queue" : "output_queue");
  const Type* queue_type = kind == DsdKind::fabin ? types_.input_queue : types_.output_queue;
  if (color == nullptr && queue == nullptr)
    return wrong(expr.at, "a fabric DSD needs a queue or a color",
                 "Write .input_queue = @get_input_queue(2) or its like.");
  if (color != nullptr && (!color->known() || !color->type->is(TypeKind::color)))
    return wrong(expr.at, "fabric_color is a color that is known at compile time");
  if (queue != nullptr && (!queue->known() || queue->type != queue_type))
    return wrong(expr.at, "the queue of this DSD is an " + queue_type->name +
                              " that is known at compile time");
  if (color != nullptr) made.color = static_cast<std::uint8_t>(color->integer);
  if (queue != nullptr) {
    made.queued = true;
    made.queue = static_cast<std::uint8_t>(queue->integer);
    if (color != nullptr && kind == DsdKind::fabin) {  // early versions: the queue belongs to the
                                                       // color that is named with it
      QueueEntry& entry = program_->input_queues[made.queue];
      if (!entry.set) entry = {.set = true, .color = made.color, .at = expr.at};
    }
  }
  made.control = flag(part(properties, "control"));
  made.advances = flag(part(properties, "advance_switch"));
  made.indexed = flag(part(properties, "wavelet_index_offset"));
  made.transforms = flag(part(properties, "control_transform"));
  if (const Value* zero = part(properties, "zero"); zero != nullptr) {
    made.zeroes_first = flag(part(*zero, "first_source"));
    made.zeroes_second = flag(part(*zero, "second_source"));
    if (made.zeroes_first || made.zeroes_second)
      return wrong(expr.at, "zero is not supported yet",
                   "Clear the memory with an operation behind it.");
  }
  if (const Value* mode = part(properties, "simd_mode"); mode != nullptr) {
    if (!mode->parts->items.empty())
      return wrong(expr.at, "simd_mode is not supported yet", "Send 32 bits with @mov32.");
  }
  if (extent->known()) {
    if (!extent->type->is_integer() || extent->integer < 0 || extent->integer > 0xffff)
      return wrong(expr.at, "extent is 0 to 65535, here is " + shown(*extent));
    made.length = static_cast<std::uint16_t>(extent->integer);
    return known(types_.dsd(kind), made.packed());
  }
  if (!runtime()) return wrong(expr.at, "extent has to be known at compile time here");
  const std::uint16_t to = fresh(expr.at);
  const std::uint16_t from = constant_register(made.packed(), expr.at);
  emit({.code = Code::describe,
        .part = static_cast<std::uint8_t>(Part::length),
        .a = to,
        .b = from,
        .c = in_register(*extent, expr.at)},
       expr.at);
  return held_value(types_.dsd(kind), to);
}

/// @set_dsd_base_addr, @increment_dsd_offset, @set_dsd_length, @set_dsd_stride.
Value Evaluator::change_dsd(const Expr& expr) {
  if (!expects(expr, 2, 3)) return {};
  Value dsd = value(*expr.items[0]);
  if (!dsd.ok()) return {};
  if (!dsd.type->is(TypeKind::dsd))
    return wrong(expr.at, "@" + std::string(expr.name) + " takes a DSD, here is " + dsd.type->name);
  const Part which = expr.name == "set_dsd_base_addr" ? Part::base
                     : expr.name == "set_dsd_length"  ? Part::length
                     : expr.name == "set_dsd_stride"  ? Part::stride
                                                      : Part::offset;
  std::int64_t bytes = 1;
  if (which == Part::offset) {
    if (!expects(expr, 3, 3)) return {};
    const Type* element = type_of(*expr.items[2]);
    if (element == nullptr) return {};
    bytes = element->bytes;
  }
  Value change = evaluated(*expr.items[1]);
  if (change.ok() && change.type->is(TypeKind::array)) {
    change = in_memory(change, expr.at);
    if (change.ok() && change.held == kNoRegister) {
      change = known(types_.pointer(change.type, false), change.address);
    } else if (change.ok()) {
      return wrong(expr.at, "the address of this array is not known", "Write & in front of it.");
    }
  }
  change = loaded(change, expr.at);
  if (!change.ok()) return {};
  if (which == Part::base ? !change.type->is(TypeKind::pointer) : !change.type->is_integer()) {
    return wrong(expr.at,
                 which == Part::base ? "a pointer is needed here" : "an integer is needed here");
  }
  if (dsd.known() && change.known()) {
    Descriptor made = Descriptor::unpacked(static_cast<std::int64_t>(dsd.integer));
    const auto by = static_cast<std::int64_t>(change.integer);
    if (which == Part::base) made.base = static_cast<std::uint16_t>(by);
    if (which == Part::length) made.length = static_cast<std::uint16_t>(by);
    if (which == Part::stride) made.stride = static_cast<std::int8_t>(by);
    if (which == Part::offset) made.base = static_cast<std::uint16_t>(made.base + by * bytes);
    return known(dsd.type, made.packed());
  }
  const std::uint16_t from = in_register(dsd, expr.at);
  const std::uint16_t by = in_register(change, expr.at), to = fresh(expr.at);
  emit({.code = Code::describe,
        .part = static_cast<std::uint8_t>(which),
        .a = to,
        .b = from,
        .c = by,
        .where = static_cast<std::int32_t>(bytes)},
       expr.at);
  return held_value(dsd.type, to);
}

Value Evaluator::allocate_fifo(const Expr& expr) {
  if (!expects(expr, 1, 2)) return {};
  if (program_ == nullptr) return wrong(expr.at, "a layout has no memory");
  Value buffer = evaluated(*expr.items[0]);
  if (!buffer.ok()) return {};
  const bool pointer = buffer.type->is(TypeKind::pointer) && buffer.known();
  if (!pointer && (buffer.where != Where::memory || buffer.held != kNoRegister ||
                   !buffer.type->is(TypeKind::array))) {
    return wrong(expr.at, "the buffer of a FIFO is a global array", "Declare it with var.");
  }
  const Type* array = pointer ? buffer.type->element : buffer.type;
  if (!array->is(TypeKind::array) || array->bytes == 0)
    return wrong(expr.at, "the buffer of a FIFO is a global array");
  FifoEntry made{.address = static_cast<std::uint16_t>(
                     pointer ? static_cast<std::uint32_t>(buffer.integer) : buffer.address),
                 .bytes = static_cast<std::uint16_t>(array->bytes)};
  if (expr.items.size() == 2) {
    const Value config = known_value(*expr.items[1], nullptr, "the configuration of a FIFO");
    if (!config.ok()) return {};
    if (const Value* task = part(config, "activate_push"); task != nullptr)
      made.activated_by_push = task_id_of(*task, expr.at);
    if (const Value* task = part(config, "activate_pop"); task != nullptr)
      made.activated_by_pop = task_id_of(*task, expr.at);
    if (const Value* action = part(config, "empty_action"); action != nullptr)
      made.ends_when_empty = flag(part(*action, "terminate"));
    if (part(config, "simd_mode") != nullptr && !part(config, "simd_mode")->parts->items.empty()) {
      return wrong(expr.at, "simd_mode is not supported yet");
    }
  }
  Descriptor dsd{.kind = DsdKind::fifo, .base = static_cast<std::uint16_t>(program_->fifos.size())};
  program_->fifos.push_back(made);
  return known(types_.dsd(DsdKind::fifo), dsd.packed());
}

Value Evaluator::get_dsr(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type* type = type_of(*expr.items[0]);
  const Value number = known_value(*expr.items[1], nullptr, "the number of a DSR");
  if (type == nullptr || !number.ok()) return {};
  if (!type->is(TypeKind::dsr))
    return wrong(expr.at, "@get_dsr takes dsr_dest, dsr_src0 or dsr_src1, not " + type->name);
  if (number.integer < 0 || number.integer > 15)
    return wrong(expr.at, "a DSR is 0 to 15, not " + shown(number));
  return known(type, number.integer);
}

Value Evaluator::load_to_dsr(const Expr& expr) {
  if (!expects(expr, 2, 3)) return {};
  if (program_ == nullptr) return wrong(expr.at, "a layout has no DSRs");
  const Value dsr = known_value(*expr.items[0], nullptr, "a DSR");
  const Value dsd = value(*expr.items[1]);
  if (!dsr.ok() || !dsd.ok()) return {};
  if (!dsr.type->is(TypeKind::dsr) || !dsd.type->is(TypeKind::dsd))
    return wrong(expr.at, "@load_to_dsr takes a DSR and a DSD");
  if (dsd.type->dsd == DsdKind::fabin && dsr.type->dsr == DsrKind::destination)
    return wrong(expr.at, "a fabin_dsd cannot be in a dsr_dest", "Take a dsr_src1.");
  if (dsd.type->dsd == DsdKind::fabout && dsr.type->dsr != DsrKind::destination)
    return wrong(expr.at, "a fabout_dsd can only be in a dsr_dest");
  DsrLoad made{.file = dsr.type->dsr, .number = static_cast<std::uint16_t>(dsr.integer)};
  Value config;
  if (expr.items.size() == 3) {
    config = evaluated(*expr.items[2]);
    if (!config.ok()) return {};
    made.saves_address = flag(part(config, "save_address"));
  }
  if (!runtime()) {
    if (!dsd.known()) return wrong(expr.at, "this DSD is not known at compile time");
    InitialDsr initial_dsr{.file = made.file,
                           .number = made.number,
                           .descriptor = static_cast<std::int64_t>(dsd.integer),
                           .saves_address = made.saves_address};
    if (config.ok()) {
      initial_dsr.async = flag(part(config, "async"));
      for (const auto& [name, kind] : {std::pair{"activate", ActionKind::activate},
                                       std::pair{"unblock", ActionKind::unblock}}) {
        if (const Value* task = part(config, name); task != nullptr) {
          initial_dsr.done = kind;
          initial_dsr.task = static_cast<std::uint16_t>(task_id_of(*task, expr.at));
        }
      }
    }
    program_->dsrs.push_back(initial_dsr);
    return nothing();
  }
  made.descriptor = in_register(dsd, expr.at);
  if (config.ok() && !configure(config, made.config, expr.at)) return {};
  emit({.code = Code::load_dsr, .where = static_cast<std::int32_t>(program_->loads.size())},
       expr.at);
  program_->loads.push_back(made);
  return nothing();
}

}  // namespace tensorpress::csl
