#include "csl/meaning/types.h"

#include <utility>

namespace tensorpress::csl {

std::int64_t Type::length() const {
  std::int64_t product = 1;
  for (const std::int64_t length : lengths) product *= length;
  return product;
}

const Type* Types::keep(Type made) {
  auto& place = kept_[made.name];
  if (!place) place = std::make_unique<Type>(std::move(made));
  return place.get();
}

Types::Types() {
  const auto plain = [this](TypeKind kind, const char* name, Scalar scalar = Scalar::none) {
    const Type* made = keep({.kind = kind,
                             .name = name,
                             .scalar = scalar,
                             .bytes = scalar == Scalar::none ? 0 : bytes_of(scalar)});
    names_[made->name] = made;
    return made;
  };
  nothing = plain(TypeKind::nothing, "void");
  boolean = plain(TypeKind::boolean, "bool", Scalar::boolean);
  comptime_integer = plain(TypeKind::comptime_integer, "comptime_int");
  comptime_real = plain(TypeKind::comptime_real, "comptime_float");
  string = plain(TypeKind::string, "comptime_string");
  type = plain(TypeKind::type, "type");
  function = plain(TypeKind::function, "function");
  module = plain(TypeKind::module, "imported_module");
  range = plain(TypeKind::range, "range");
  undefined = plain(TypeKind::undefined, "undefined");
  color = plain(TypeKind::color, "color", Scalar::u16);
  input_queue = plain(TypeKind::input_queue, "input_queue", Scalar::u16);
  output_queue = plain(TypeKind::output_queue, "output_queue", Scalar::u16);
  microthread = plain(TypeKind::microthread, "ut_id", Scalar::u16);
  data_task = plain(TypeKind::data_task, "data_task_id", Scalar::u16);
  local_task = plain(TypeKind::local_task, "local_task_id", Scalar::u16);
  control_task = plain(TypeKind::control_task, "control_task_id", Scalar::u16);
  direction = plain(TypeKind::direction, "direction", Scalar::u16);
  string_number =
      plain(TypeKind::module, "string#", Scalar::u64);  // of words that a machine prints
  f16 = plain(TypeKind::real, "f16", Scalar::f16);
  f32 = plain(TypeKind::real, "f32", Scalar::f32);
  u8 = integer(false, 8);
  u16 = integer(false, 16);
  u32 = integer(false, 32);
  i8 = integer(true, 8);
  i16 = integer(true, 16);
  i32 = integer(true, 32);
  for (const DsdKind kind : {DsdKind::mem1d, DsdKind::mem4d, DsdKind::circbuf, DsdKind::fabin,
                             DsdKind::fabout, DsdKind::fifo}) {
    names_[dsd(kind)->name] = dsd(kind);
  }
  for (const DsrKind kind : {DsrKind::destination, DsrKind::source0, DsrKind::source1}) {
    names_[dsr(kind)->name] = dsr(kind);
  }
}

const Type* Types::integer(bool with_sign, unsigned bits) {
  const Scalar kinds[] = {
      with_sign ? Scalar::i8 : Scalar::u8, with_sign ? Scalar::i16 : Scalar::u16,
      with_sign ? Scalar::i32 : Scalar::u32, with_sign ? Scalar::i64 : Scalar::u64};
  const Scalar scalar = kinds[bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3];
  return keep({.kind = TypeKind::integer,
               .name = (with_sign ? "i" : "u") + std::to_string(bits),
               .scalar = scalar,
               .bits = bits,
               .bytes = bytes_of(scalar)});
}

const Type* Types::pointer(const Type* element, bool many) {
  return keep({.kind = TypeKind::pointer,
               .name = (many ? "[*]" : "*") + element->name,
               .scalar = Scalar::u16,
               .element = element,
               .many = many,
               .bytes = 2});
}

const Type* Types::array(const Type* element, std::vector<std::int64_t> lengths) {
  Type made{
      .kind = TypeKind::array, .name = "[", .element = element, .lengths = std::move(lengths)};
  for (std::size_t k = 0; k < made.lengths.size(); ++k) {
    made.name += (k != 0 ? "," : "") + std::to_string(made.lengths[k]);
  }
  made.name += "]" + element->name;
  made.bytes = static_cast<std::uint32_t>(made.length() * element->bytes);
  return keep(std::move(made));
}

const Type* Types::anonymous(std::vector<std::string_view> fields) {
  Type made{.kind = TypeKind::anonymous, .name = ".{", .fields = std::move(fields)};
  for (const std::string_view field : made.fields) made.name += "." + std::string(field) + ",";
  made.name += "}";
  return keep(std::move(made));
}

const Type* Types::dsd(DsdKind kind) {
  static constexpr const char* kNames[] = {"dsd",       "mem1d_dsd",  "mem4d_dsd", "circbuf_dsd",
                                           "fabin_dsd", "fabout_dsd", "fifo_dsd"};
  return keep({.kind = TypeKind::dsd,
               .name = kNames[static_cast<int>(kind)],
               .scalar = Scalar::u64,
               .dsd = kind,
               .bytes = 8});
}

const Type* Types::dsr(DsrKind kind) {
  static constexpr const char* kNames[] = {"dsr_dest", "dsr_src0", "dsr_src1"};
  return keep({.kind = TypeKind::dsr,
               .name = kNames[static_cast<int>(kind)],
               .scalar = Scalar::u16,
               .dsr = kind,
               .bytes = 2});
}

const Type* Types::structure(std::vector<std::string_view> fields, std::vector<const Type*> types) {
  Type made{.kind = TypeKind::structure,
            .name = "struct#" + std::to_string(++counter_),
            .fields = std::move(fields),
            .types = std::move(types)};
  bool runtime = true;
  for (const Type* part : made.types) {
    made.bytes += part->bytes;
    runtime = runtime && part->is_runtime();
  }
  if (!runtime) made.bytes = 0;
  return keep(std::move(made));
}

const Type* Types::enumeration(std::vector<std::string_view> names, std::vector<Wide> values,
                               const Type* stored) {
  return keep({.kind = TypeKind::enumeration,
               .name = "enum#" + std::to_string(++counter_),
               .scalar = stored->scalar,
               .element = stored,
               .fields = std::move(names),
               .values = std::move(values),
               .bytes = stored->bytes});
}

const Type* Types::named(std::string_view name) {
  const auto found = names_.find(name);
  if (found != names_.end()) return found->second;
  if (name == "comptime_struct") return anonymous({});
  if (name == "dsr_fifo_dest") return dsr(DsrKind::destination);
  if (name == "dsr_fifo_src1") return dsr(DsrKind::source1);
  if (name.size() >= 2 && name.size() <= 3 && (name[0] == 'i' || name[0] == 'u')) {
    unsigned bits = 0;
    for (const char digit : name.substr(1)) {
      if (digit < '0' || digit > '9') return nullptr;
      bits = bits * 10 + static_cast<unsigned>(digit - '0');
    }
    if (bits >= 1 && bits <= 64) return integer(name[0] == 'i', bits);
  }
  return nullptr;
}

}  // namespace tensorpress::csl
