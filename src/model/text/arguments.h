// The arguments of a call in the text, matched with an operator's signature; and arithmetic on
// them.
#pragma once

#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/graph/operator.h"
#include "model/text/syntax.h"

namespace tensorpress::model {

struct GivenAttribute {
  std::string keyword;  // empty: by position
  Attribute value;
  Place place;
};

struct CallArguments {
  std::vector<ValueId> tensors;
  std::vector<GivenAttribute> attributes;
  std::vector<std::pair<std::string, ValueId>> tied;  // weight = @wte.weight
  bool attributes_begun = false;
  Place wrong;  // set by match_attributes where it found a mistake
};

/// Every attribute of the signature with its value or default.
Result<Attributes> match_attributes(const Signature& signature, CallArguments& arguments);

/// a + b and the like on numbers, words and truths.
Result<Attribute> calculate(const std::string& sign, const Attribute& a, const Attribute& b);
Result<Attribute> calculate_unary(bool negation, const Attribute& a);

/// One expression, such as that in a path's braces.
Result<TextExpression> parse_expression(const SourceText& source, Place place,
                                        std::string_view inner);

}  // namespace tensorpress::model
