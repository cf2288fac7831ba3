// The lines that store and restore a value, and the Python functions that they call: those of the
// package (native) or functions written into the emitted file from PyTorch's operators (portable).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/plan.h"

namespace tensorpress::model {

/// `bits`: of quantized values, a number or an expression.
std::string pack_expression(const Storing& storing, const std::string& bits,
                            const std::string& variable, ValueId seed);
std::string unpack_expression(const Storing& storing, const std::string& bits,
                              const std::string& stored, const TensorType& type);

/// The same for slices of the batch; for values that are quantized or cast.
std::string unpack_slices_expression(const Storing& storing, const std::string& bits,
                                     const std::string& stored, const TensorType& type);

/// Names that variables of the emitted file must not have.
std::vector<std::string_view> packing_function_names();

/// The definitions of those functions among pack_signs, mask_by_signs, pack_bits, ... that the code
/// mentions, as they stand at the beginning of the emitted file.
std::string packing_functions(const std::string& code, bool native);

}  // namespace tensorpress::model
