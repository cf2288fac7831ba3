// The Python functions that emitted files may begin with: those that call the package (native) and
// those of PyTorch's operators only (portable). One list a file; functions.cc joins them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::model {

/// A function or class of the emitted file. If one of the two forms is empty, the other serves
/// both.
struct EmittedFunction {
  std::string_view name;
  std::string_view native;
  std::string_view portable;
};

std::span<const EmittedFunction> packing_functions();
std::span<const EmittedFunction> slices_functions();
std::span<const EmittedFunction> gradients_functions();

/// Names that variables of the emitted file must not have.
std::vector<std::string_view> emitted_function_names();

/// The definitions of those functions that the code mentions, and of those that they mention, as
/// they stand at the beginning of the emitted file.
std::string emitted_functions(const std::string& code, bool native);

}  // namespace tensorpress::model
