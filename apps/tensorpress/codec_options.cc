#include "codec_options.h"

#include <vector>

#include "base/text.h"

namespace tensorpress::cli {

void CodecOptions::declare(CLI::App& app) {
  const std::vector<CodecInfo> all = codecs();
  std::string names;
  for (const CodecInfo& info : all) names += text(names.empty() ? "" : "|", info.name);
  if (!all.empty()) name_ = all.front().name;
  app.add_option("--codec", name_, "how to compress")->option_text(text(names, " (", name_, ")"));

  for (const CodecInfo& info : all) {
    for (const ParameterInfo& parameter : info.parameters) {
      const std::string flag = text("--", parameter.name);
      // Codecs may share a parameter's name; the flag then belongs to the first one's help.
      if (app.get_option_no_throw(flag) != nullptr) continue;
      const std::string name(parameter.name);
      app.add_option_function<std::string>(
             flag, [this, name](const std::string& value) { values_[name] = value; },
             std::string(parameter.help))
          ->option_text(text(parameter.choices, " (", parameter.default_value, ")"))
          ->group(text("Codec ", info.name));
    }
  }
}

Result<Codec> CodecOptions::codec() const {
  std::vector<Parameter> parameters;
  parameters.reserve(values_.size());
  for (const auto& [name, value] : values_) parameters.push_back({name, value});
  return Codec::make(name_, parameters);
}

}  // namespace tensorpress::cli
