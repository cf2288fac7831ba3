// The Python functions that emitted files may begin with. They are the files of this folder, which
// are part of the program; portable/ has other forms of some, and functions that only those call.
// A function is picked by its name. Comments above it state what cannot be seen from its name:
//
//   # needs: pack_codes, window_bits      other functions of the folder that it calls
//   # modules: packing                    of tensorpress.torch
//   # operators: floor, view 2            that a device must have to run it; how often, if not once
//   # types: uint8                        and types of elements besides those of its arguments
//   # in place: x                         the argument whose memory the (first) result is in
//   # in place: x, if own                 the same if the argument `own` is given
//
// tests/python/test_emitted_functions.py compares them with the code.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/embedded.h"

namespace tensorpress::model {

/// Of this folder: "storing", "portable/storing", "step/sgd".
extern const std::span<const EmbeddedFile> kPythonFiles;
std::string_view python_file(std::string_view name);

struct PythonFunction {
  std::string_view name;
  std::string_view text;  // from "def" or "class" on
  std::vector<std::string_view> needs = {};
  std::vector<std::string_view> modules = {};
  std::vector<std::pair<std::string_view, int>> operators = {};
  std::vector<std::string_view> types = {};
  std::vector<std::string_view> arguments = {};
  std::string_view in_place = {};     // an argument
  std::string_view in_place_if = {};  // another one
};

/// Functions and classes that begin in the first column, in the order of the file.
std::vector<PythonFunction> functions_in(std::string_view file);

/// The form that native steps call, or portable ones; nullptr if there is no such function.
const PythonFunction* find_function(std::string_view name, bool native);

/// Names that variables of the emitted file must not have.
std::vector<std::string_view> function_names();

/// Those of these names, and what they need, in the order of the emitted file. Names of others are
/// passed over.
std::vector<const PythonFunction*> functions_for(const std::set<std::string>& names, bool native);

}  // namespace tensorpress::model
