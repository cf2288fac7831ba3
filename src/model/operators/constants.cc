// Tensors that the text gives itself: arange(count, start, step, type), full(shape, value, type),
// numbers([0.5, 1], shape, type). They have no inputs, are made when forward runs, and have no
// gradient. Positions, masks and tables of frequencies are made of them.
#include <cmath>

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

constexpr double kExact = 9007199254740992.0;  // whole numbers up to 2^53 are exact as doubles

Result<Element> element_of(const Attributes& attributes) {
  const auto element = parse_element(attributes.word("type"));
  if (element) return *element;
  return bad_argument("'type' is \"", attributes.word("type"),
                      "\"; there are f32, f64, f16, bf16, i64, i32, u8 and bool");
}

Result<Shape> fixed_shape(const std::vector<std::int64_t>& extents) {
  Shape shape;
  for (const std::int64_t each : extents) {
    if (each < 1 || each > kMaxElements) {
      return bad_argument("'shape' has an extent of ", each, "; it must be 1 or more");
    }
    shape.push_back(dim(each));
  }
  if (!product(shape, 0, shape.size())) return bad_argument("the shape is too large");
  return shape;
}

/// A number of this type, for Python.
Expression written(double value, Element element) {
  if (is_floating(element)) return limit(value);
  if (element == Element::boolean) return value != 0;
  return static_cast<std::int64_t>(value);
}

Result<void> check_number(double value, Element element) {
  if (is_floating(element)) return {};
  const bool whole = std::floor(value) == value && std::abs(value) <= kExact;
  if (element == Element::boolean && value != 0 && value != 1) {
    return bad_argument(value, " is not 0 or 1, which bool has");
  }
  if (!whole)
    return bad_argument(value, " is not a whole number, which ", name_of(element), " has");
  return {};
}

class Constant : public Operator {
 public:
  explicit Constant(Signature signature) : signature_(std::move(signature)) {}
  const Signature& signature() const override { return signature_; }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void backward(Site& /*s*/) const override {}

 protected:
  static Operands place(const Site& s) {
    return {keyword("dtype", s.view().output().type.element), keyword("device", word("device"))};
  }

 private:
  Signature signature_;
};

class Arange final : public Constant {
 public:
  Arange()
      : Constant({"arange",
                  0,
                  0,
                  {{"count", AttributeKind::integer, true},
                   {"start", AttributeKind::integer, false, std::int64_t{0}},
                   {"step", AttributeKind::integer, false, std::int64_t{1}},
                   {"type", AttributeKind::word, false, std::string("i64")}}}) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    const Attributes& given = arguments.attributes;
    TRY(const Element element, element_of(given));
    if (element == Element::boolean) return bad_argument("'type' is \"bool\", which has no order");
    TRY(Shape shape, fixed_shape({given.integer("count")}));
    const std::int64_t step = given.integer("step");
    if (step == 0) return bad_argument("'step' is 0");
    const auto count = static_cast<double>(given.integer("count"));
    const double last =
        static_cast<double>(given.integer("start")) + count * static_cast<double>(step);
    if (std::abs(last) > kExact) return bad_argument("the numbers go beyond 2^53");
    return Inferred{{{element, std::move(shape)}}};
  }
  void forward(Site& s) const override {
    const Attributes& given = s.attributes();
    const std::int64_t start = given.integer("start");
    const std::int64_t step = given.integer("step");
    const std::int64_t end = start + given.integer("count") * step;
    s.define_output(0, torch("arange", start, end, step, place(s)));
  }
};

class Full final : public Constant {
 public:
  Full()
      : Constant({"full",
                  0,
                  0,
                  {{"shape", AttributeKind::integers, true},
                   {"value", AttributeKind::limit, true},
                   {"type", AttributeKind::word, false, std::string("f32")}}}) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    TRY(const Element element, element_of(arguments.attributes));
    RETURN_IF_ERROR(check_number(arguments.attributes.number("value"), element));
    TRY(Shape shape, fixed_shape(arguments.attributes.integers("shape")));
    return Inferred{{{element, std::move(shape)}}};
  }
  void forward(Site& s) const override {
    const TensorType& type = s.view().output().type;
    s.define_output(0, torch("full", type.shape,
                             written(s.attributes().number("value"), type.element), place(s)));
  }
};

class Numbers final : public Constant {
 public:
  Numbers()
      : Constant({"numbers",
                  0,
                  0,
                  {{"values", AttributeKind::numbers, true},
                   {"shape", AttributeKind::integers},
                   {"type", AttributeKind::word, false, std::string("f32")}}}) {}
  Result<Inferred> infer(const Arguments& arguments) const override {
    const Attributes& given = arguments.attributes;
    TRY(const Element element, element_of(given));
    const std::vector<double> values = given.numbers("values");
    for (const double each : values) RETURN_IF_ERROR(check_number(each, element));
    const auto count = static_cast<std::int64_t>(values.size());
    TRY(Shape shape, fixed_shape(given.has("shape") ? given.integers("shape")
                                                    : std::vector<std::int64_t>{count}));
    if (elements(shape, {}) != count) {
      return bad_argument(count, " numbers cannot be ", to_text(shape));
    }
    return Inferred{{{element, std::move(shape)}}};
  }
  void forward(Site& s) const override {
    const TensorType& type = s.view().output().type;
    std::vector<Expression> values;
    for (const double each : s.attributes().numbers("values")) {
      values.push_back(written(each, type.element));
    }
    const Expression all = type.shape.empty() ? values[0] : list_of(std::move(values));
    const Expression made = torch("tensor", all, place(s));
    s.define_output(0, type.shape.size() <= 1 ? made : made.shaped("view", type.shape));
  }
};

}  // namespace

const Operator& arange_operator() {
  static const Arange kOperator;
  return kOperator;
}
const Operator& full_operator() {
  static const Full kOperator;
  return kOperator;
}
const Operator& numbers_operator() {
  static const Numbers kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
