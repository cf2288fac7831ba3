// Modules: files with bound parameters, and their globals.
#include <charconv>

#include "csl/meaning/evaluator.h"
#include "csl/syntax/parser.h"

namespace tensorpress::csl {

const File* Compilation::file(const std::string& path, Position from) {
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second.get();
  std::optional<std::string> text;
  if (path.starts_with('<')) {
    const char* library = library_text(std::string_view(path).substr(1, path.size() - 2));
    if (library == nullptr) {
      diagnostics.error(from, "the library " + path + " is not supported yet",
                        "docs/guide/wafer.md lists the libraries that are.");
      return nullptr;
    }
    text = library;
  } else {
    text = read(path);
  }
  if (!text) {
    diagnostics.error(from, "the file " + path + " cannot be read",
                      "Names are relative to the file that imports.");
    return nullptr;
  }
  const std::uint32_t id = sources.add(path, std::move(*text));
  return (files_[path] = parsed(sources, id, diagnostics)).get();
}

std::string Evaluator::resolved(std::string_view name, const Module& from) const {
  if (name.starts_with('<') || name.starts_with('/')) return std::string(name);
  const std::size_t slash = from.path.rfind('/');
  std::string path =
      (slash == std::string::npos || from.library ? "" : from.path.substr(0, slash + 1)) +
      std::string(name);
  for (const std::string& folder : all_.import_folders) {
    if (all_.read(path)) break;
    path = folder + "/" + std::string(name);
  }
  return path;
}

Module* Evaluator::module(const std::string& path, const Value& params, Position from) {
  const std::string key = path + shown(params);
  const auto found = modules_.find(key);
  if (found != modules_.end()) return found->second.get();
  const File* file = all_.file(path, from);
  if (file == nullptr) return nullptr;
  auto made = std::make_unique<Module>();
  made->file = file;
  made->path = path;
  made->library = path.starts_with('<');
  for (const Declaration& declaration : file->declarations) {
    if (declaration.name.empty()) continue;
    if (!made->names.emplace(declaration.name, &declaration).second) {
      wrong(declaration.at, "'" + std::string(declaration.name) + "' is declared twice",
            "Rename one of the two.");
    }
  }
  if (params.ok() && params.parts) {
    for (std::size_t k = 0; k < params.type->fields.size(); ++k) {
      const std::string_view name = params.type->fields[k];
      const auto declared = made->names.find(name);
      if (declared == made->names.end() || declared->second->kind != DeclarationKind::param) {
        wrong(from, path + " has no param '" + std::string(name) + "'",
              "Declare it there with `param " + std::string(name) + ": type;` or leave it out.");
        continue;
      }
      made->given.emplace(std::string(name), params.parts->items[k]);
    }
  }
  Module* result = made.get();
  modules_[key] = std::move(made);
  pending_modules_.push_back(result);
  return result;
}

Value Evaluator::command_line_value(const Declaration& declaration, const std::string& text) {
  if (text == "true" || text == "false") return known(types_.boolean, text == "true" ? 1 : 0);
  std::int64_t whole = 0;
  const char* end = text.data() + text.size();
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end) {
    const Type* type = declaration.type != nullptr ? type_of(*declaration.type) : nullptr;
    // A colour or a task given by its number.
    if (type != nullptr && type->scalar == Scalar::u16 && !type->is_integer())
      return known(type, whole);
    return known(types_.comptime_integer, whole);
  }
  double real = 0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc() && read.ptr == end) {
    return known_real(types_.comptime_real, real);
  }
  return known_text(text);
}

Value Evaluator::initial(Module& module, const Declaration& declaration) {
  const Type* type = nullptr;
  if (declaration.type != nullptr) {
    type = type_of(*declaration.type);
    if (type == nullptr) return {};
  }
  Value made;
  if (declaration.kind == DeclarationKind::param) {
    const auto given = module.given.find(declaration.name);
    if (given != module.given.end()) {
      made = given->second;
    } else if (module.layout && all_.params.contains(std::string(declaration.name))) {
      made = command_line_value(declaration, all_.params[std::string(declaration.name)]);
    } else if (declaration.value != nullptr) {
      made = value(*declaration.value, type);
    } else {
      return wrong(
          declaration.at,
          "the param '" + std::string(declaration.name) + "' of " + module.path + " has no value",
          module.layout
              ? "Give it on the command line: --params=" + std::string(declaration.name) + ":VALUE."
              : "Give it where the file is imported or placed.");
    }
  } else if (declaration.value != nullptr) {
    made = value(*declaration.value, type);
  } else if (declaration.kind == DeclarationKind::constant) {
    return wrong(declaration.at, "a constant needs a value", "Write = and the value.");
  } else {
    if (type == nullptr) {
      return wrong(declaration.at, "a variable needs a type or a value", "Write : and its type.");
    }
    made = known(types_.undefined, 0);
  }
  if (type != nullptr && made.ok() && !made.type->is(TypeKind::undefined)) {
    made = coerced(made, type, declaration.at);
  } else if (type != nullptr && made.ok()) {
    made.type = type->is(TypeKind::undefined) ? made.type : types_.undefined;
    made.meant = type;
  }
  return made;
}

Value Evaluator::global(Module& module, const Declaration& declaration, Position from) {
  if (declaration.kind == DeclarationKind::function || declaration.kind == DeclarationKind::task) {
    Value made = known(types_.function, 0);
    made.module = &module;
    made.function = &declaration;
    return made;
  }
  Global& place = module.globals[&declaration];
  if (place.state == Global::State::done) return place.value;
  if (place.state == Global::State::running) {
    return wrong(from, "the value of '" + std::string(declaration.name) + "' needs itself",
                 "Break the circle with a literal value.");
  }
  if (declaration.outside) {
    place.state = Global::State::done;
    return wrong(declaration.at, "extern declarations are not supported yet",
                 "Define '" + std::string(declaration.name) + "' in this program.");
  }
  place.state = Global::State::running;
  Frame frame{.module = &module, .now = true, .first_local = locals_.size()};
  Frame* before = std::exchange(frame_, &frame);
  Value made = initial(module, declaration);
  frame_ = before;
  if (made.ok() && declaration.kind == DeclarationKind::variable) {
    const Type* type = made.type->is(TypeKind::undefined) && made.meant != nullptr
                           ? made.meant
                           : defaulted(made.type);
    if (program_ == nullptr) {
      place.value = made;
      place.value.slot = &place.value;
      place.state = Global::State::done;
      return place.value;
    }
    if (!type->is_runtime()) {
      made = wrong(declaration.at,
                   "a variable of type " + type->name + " cannot be in a tile's memory",
                   "Make it a const, or give it a type with a size.");
    } else {
      std::uint32_t alignment = type->bytes >= 4 ? 4 : 2;
      if (declaration.alignment != nullptr) {
        Frame again{.module = &module, .now = true, .first_local = locals_.size()};
        before = std::exchange(frame_, &again);
        const Value wanted = known_value(*declaration.alignment, nullptr, "an alignment");
        frame_ = before;
        if (wanted.ok() && wanted.integer >= 1 && wanted.integer <= 4096) {
          alignment = std::max(alignment, static_cast<std::uint32_t>(wanted.integer));
        }
      }
      place.address =
          allocate(type->bytes, alignment, std::string(declaration.name), declaration.at);
      if (!made.type->is(TypeKind::undefined)) {
        write_image(*place.address, coerced(made, type, declaration.at), type, declaration.at);
      }
      made = memory_value(type, *place.address);
    }
  }
  place.value = std::move(made);
  place.state = Global::State::done;
  return place.value;
}

void Evaluator::run_comptime_blocks(Module& module) {
  // Modules of the program are imported even where nobody names them: their comptime blocks count.
  for (const Declaration& declaration : module.file->declarations) {
    const Expr* from = declaration.kind == DeclarationKind::constant ? declaration.value : nullptr;
    if (from == nullptr || from->kind != ExprKind::builtin || from->name != "import_module")
      continue;
    if (!from->items.empty() && from->items[0]->words.starts_with('<')) continue;
    Frame frame{.module = &module, .now = true, .first_local = locals_.size()};
    frame_ = &frame;
    global(module, declaration, declaration.at);
    frame_ = nullptr;
  }
  for (const Declaration& declaration : module.file->declarations) {
    Frame frame{.module = &module, .now = true, .first_local = locals_.size()};
    frame_ = &frame;
    if (declaration.exported && program_ != nullptr) {
      global(module, declaration, declaration.at);
      if (declaration.kind == DeclarationKind::variable ||
          declaration.kind == DeclarationKind::constant) {
        const Value place = global_in_memory(module, declaration, declaration.at);
        if (place.ok()) {
          program_->exports.push_back({.name = std::string(declaration.name),
                                       .at = declaration.at,
                                       .address = place.address,
                                       .type = place.type->name});
        }
      }
    }
    if (declaration.kind == DeclarationKind::comptime) block(*declaration.body);
    frame_ = nullptr;
  }
}

void Evaluator::run_pending() {
  while (!pending_modules_.empty() || !pending_.empty()) {
    if (!pending_modules_.empty()) {
      Module* next = pending_modules_.front();
      pending_modules_.erase(pending_modules_.begin());
      run_comptime_blocks(*next);
    } else {
      const Instance next = std::move(pending_.front());
      pending_.pop_front();
      compile(next);
    }
  }
}

void Evaluator::run_layout(const std::string& path) {
  Module* root = module(path, {}, {});
  if (root == nullptr) return;
  root->layout = true;
  bool found = false;
  for (const auto& [given, text] : all_.params) {
    const auto declared = root->names.find(given);
    if (declared == root->names.end() || declared->second->kind != DeclarationKind::param) {
      all_.diagnostics.warning({}, path + " has no param '" + given + "'",
                               "Names of params stand in the file: param NAME: type;");
    }
  }
  for (const Declaration& declaration : root->file->declarations) {
    if (declaration.kind != DeclarationKind::layout) continue;
    if (found) {
      wrong(declaration.at, "a program has one layout block", "Put the two together.");
      return;
    }
    found = true;
    Frame frame{.module = root, .now = true};
    frame_ = &frame;
    block(*declaration.body);
    frame_ = nullptr;
  }
  if (!found) {
    all_.diagnostics.error({root->file->id, 0}, "this file has no layout block",
                           "Name the file with `layout { @set_rectangle(...); ... }`.");
  }
}

void Evaluator::run_tile(const std::string& path, const Value& params, Position from) {
  program_->path = path;
  if (module(path, params, from) == nullptr) return;
  run_pending();
  resolve_tasks();
}

}  // namespace tensorpress::csl
