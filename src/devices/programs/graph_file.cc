#include "devices/programs/graph_file.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json_text.h"

namespace tensorpress::devices {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostTensors = 1'000'000;
constexpr std::size_t kMostAxes = 64;
constexpr double kMostElements = 0x1p62;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class Reader {
 public:
  Reader(const Json& root, std::string file) : root_(root), file_(std::move(file)) {}

  Result<Program> read() {
    if (text_of(root_, "format") != "tensorpress-graph") {
      return bad_argument(file_, " is not a graph: it lacks \"format\": \"tensorpress-graph\"; ",
                          "tensorpress.torch.write_graph makes one");
    }
    const auto version = root_.find("version");
    if (version == root_.end() || *version != 1) {
      return unsupported(file_, " is a graph of another version than 1");
    }
    program_.name = text_of(root_, "name");
    TRY(const Json* const tensors, list(root_, "tensors"));
    for (const Json& each : *tensors) RETURN_IF_ERROR(read_tensor(each));
    TRY(const Json* const operators, list(root_, "operators"));
    for (const Json& each : *operators) RETURN_IF_ERROR(read_operator(each));
    return std::move(program_);
  }

 private:
  Result<const Json*> list(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array() || found->size() > kMostTensors) {
      return bad_argument(file_, ": \"", key, "\" must be a list of at most ", kMostTensors);
    }
    return &*found;
  }

  Result<void> read_tensor(const Json& object) {
    const std::size_t number = program_.tensors.size();
    const auto wrong = [&](const char* what) {
      return bad_argument(file_, ": tensor ", number, " ", what);
    };
    if (!object.is_object()) return wrong("is not an object");
    ProgramTensor tensor;
    tensor.name = text_of(object, "name");
    tensor.type = text_of(object, "type");
    if (tensor.type.empty()) return wrong("has no \"type\"");
    const auto shape = object.find("shape");
    if (shape == object.end() || !shape->is_array() || shape->size() > kMostAxes) {
      return wrong("has no \"shape\"");
    }
    for (const Json& extent : *shape) {
      if (extent.is_null()) {
        tensor.dynamic = true;
        tensor.shape.push_back(1);
        continue;
      }
      if (!extent.is_number_unsigned()) return wrong("has an extent that is not a whole number");
      tensor.shape.push_back(extent.get<std::uint64_t>());
    }
    if (element_count(tensor) > kMostElements) return wrong("has more than 2^62 elements");
    constexpr std::pair<const char*, TensorRole> kRoles[] = {{"input", TensorRole::input},
                                                             {"constant", TensorRole::constant},
                                                             {"value", TensorRole::value},
                                                             {"output", TensorRole::output}};
    const std::string role = text_of(object, "role");
    bool known = false;
    for (const auto& [name, value] : kRoles) {
      if (role != name) continue;
      tensor.role = value;
      known = true;
    }
    if (!known) return wrong("has a \"role\" that is not one of input, constant, value, output");
    program_.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<void> read_operator(const Json& object) {
    const std::size_t number = program_.operators.size();
    ProgramOperator made;
    if (object.is_object()) made.name = text_of(object, "name");
    if (made.name.empty()) return bad_argument(file_, ": operator ", number, " has no \"name\"");
    for (const auto& [key, places] :
         {std::pair("inputs", &made.inputs), std::pair("outputs", &made.outputs)}) {
      TRY(const Json* const numbers, list(object, key));
      for (const Json& each : *numbers) {
        if (!each.is_number_unsigned() || each.get<std::uint64_t>() >= program_.tensors.size()) {
          return bad_argument(file_, ": operator ", number, " (", made.name, ") names tensor ",
                              each.dump(), " of ", program_.tensors.size());
        }
        places->push_back(each.get<std::size_t>());
      }
    }
    program_.operators.push_back(std::move(made));
    return {};
  }

  const Json& root_;
  std::string file_;
  Program program_;
};

}  // namespace

Result<Program> parse_graph(std::string_view json, const std::string& file) {
  const auto root = parse_json_object<Json>(json);
  if (!root.ok()) {
    return bad_argument(file, " is not a graph: ", root.error().message,
                        "; tensorpress.torch.write_graph makes one");
  }
  return Reader(*root, file).read();
}

}  // namespace tensorpress::devices
