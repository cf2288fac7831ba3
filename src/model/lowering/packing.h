// The expressions that store and restore a value; emitted/ has the Python functions that they call.
#pragma once

#include <string>

#include "model/policy/plan.h"

namespace tensorpress::model {

/// ", torch.float16" for functions that unpack: nothing for f32, which they take if nobody says.
std::string dtype_argument(const TensorType& type);

/// `bits`: of quantized values, a number or an expression; `seed` an expression.
std::string pack_expression(const Storing& storing, const std::string& bits,
                            const std::string& variable, const std::string& seed);
/// Whether pack_expression uses the seed.
bool packs_randomly(const Storing& storing, const std::string& bits);
std::string unpack_expression(const Storing& storing, const std::string& bits,
                              const std::string& stored, const TensorType& type);

/// The same for slices of the batch; for values that are quantized or cast.
std::string unpack_slices_expression(const Storing& storing, const std::string& bits,
                                     const std::string& stored, const TensorType& type);

}  // namespace tensorpress::model
