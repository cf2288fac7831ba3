// The expressions that store and restore a value; emit/python/storing.py has the functions that
// they call.
#pragma once

#include "model/policy/policy.h"
#include "model/program/expression.h"

namespace tensorpress::model {

/// The type for functions that unpack: nothing for f32, which they take where none is given.
Operands dtype_operand(const TensorType& type);

/// `bits`: of quantized values, a number or, where the step looks them up, another expression;
/// `seed`: for packs_randomly().
Expression pack_expression(const Storing& storing, const Expression& bits,
                           const Expression& variable, const Expression& seed);
bool packs_randomly(const Storing& storing, const Expression& bits);
Expression unpack_expression(const Storing& storing, const Expression& bits,
                             const Expression& stored, const TensorType& type);

/// The same for slices of the batch; for values that are quantized or cast.
Expression unpack_slices_expression(const Storing& storing, const Expression& bits,
                                    const Expression& stored, const TensorType& type);

}  // namespace tensorpress::model
