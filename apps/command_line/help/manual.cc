#include "command_line/help/manual.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace tensorpress::cli {
namespace {

/// Text that troff takes as it is: no escapes, no requests at the beginning of a line, plain minus
/// signs.
std::string troff(const std::string& text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    line_begins = c == '\n';
  }
  return result;
}

std::vector<const CLI::Option*> visible_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::vector<const CLI::App*> visible_verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
}

/// What stands for the value in --help: "fast|best (best)", "OUT"; nothing for flags and plain
/// types.
std::string value_of(const CLI::Option& option) {
  if (!option.get_option_text().empty()) return option.get_option_text();
  if (option.get_items_expected_max() == 0) return {};
  std::string value = option.get_type_name();
  if (!option.get_default_str().empty()) value += " (" + option.get_default_str() + ")";
  return value;
}

/// "-o,--output OUT", or the name of a positional argument.
std::string heading_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  const std::string value = value_of(option);
  return option.get_name(false, true) + (value.empty() ? "" : " " + value);
}

void describe_options(std::ostream& page, const CLI::App& app) {
  for (const std::string& group : app.get_groups()) {
    bool titled = false;
    for (const CLI::Option* option : visible_options(app)) {
      if (option->get_group() != group) continue;
      if (!titled && group != "Options") page << ".PP\n.I " << troff(group) << "\n";
      titled = true;
      page << ".TP\n.B " << troff(heading_of(*option)) << "\n"
           << troff(option->get_description()) << "\n";
    }
  }
}

void describe_verb(std::ostream& page, const CLI::App& verb, const std::string& path) {
  page << ".SS " << troff(path) << "\n" << troff(verb.get_description()) << "\n";
  describe_options(page, verb);
  // A verb of a verb inherits its examples, which stand there already.
  const std::string footer = verb.get_footer();
  const bool inherited = verb.get_parent() != nullptr && verb.get_parent()->get_footer() == footer;
  if (!footer.empty() && !inherited) page << ".PP\n.nf\n" << troff(footer) << "\n.fi\n";
  for (const CLI::App* inner : visible_verbs(verb)) {
    describe_verb(page, *inner, path + " " + inner->get_name());
  }
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : visible_options(app)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    if (!option->get_lnames().empty()) continue;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : " ") + word;
  return result;
}

struct Choices {
  std::string words;
  bool files = false;  // "default|FILE.json" takes both
};

/// "fast|best" as its words; nothing where a value is a number, a name or a file.
Choices choices_of(const CLI::Option& option) {
  const std::string value = value_of(option), type = value.substr(0, value.find(' '));
  if (type.find('|') == std::string::npos) return {};
  bool files = false;
  std::vector<std::string> words;
  std::istringstream parts(type);
  for (std::string word; std::getline(parts, word, '|');) {
    const bool plain = std::ranges::all_of(word, [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_';
    });
    if (plain) words.push_back(word);
    if (word.starts_with("FILE")) files = true;
  }
  return {joined(words), files};
}

/// The lines of a `case` for one verb or sub-verb, whose words stand before the cursor.
void complete_verb(std::ostream& script, const CLI::App& verb, const std::string& path) {
  std::vector<std::string> words = option_names(verb);
  for (const CLI::App* inner : visible_verbs(verb)) words.push_back(inner->get_name());
  script << "    \"" << path << "\")\n      words=\"" << joined(words) << "\"\n";
  std::ostringstream choices;
  for (const CLI::Option* option : visible_options(verb)) {
    const auto [values, files] = choices_of(*option);
    if (values.empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      choices << "        --" << name << ") values=\"" << values << "\""
              << (files ? " files=yes" : "") << " ;;\n";
    }
  }
  if (!choices.str().empty())
    script << "      case $previous in\n" << choices.str() << "      esac\n";
  script << "      ;;\n";
  for (const CLI::App* inner : visible_verbs(verb)) {
    complete_verb(script, *inner, path + " " + inner->get_name());
  }
}

}  // namespace

std::string man_page(const CLI::App& program, const std::string& version) {
  std::ostringstream page;
  const std::string& name = program.get_name();
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  page << ".TH " << troff(upper) << " 1 \"\" \"" << troff(name + " " + version) << "\"\n"
       << ".SH NAME\n"
       << troff(name) << " \\- " << troff(program.get_description()) << "\n"
       << ".SH SYNOPSIS\n.B " << troff(name) << "\nVERB [OPTIONS]\n"
       << ".SH OPTIONS\n";
  describe_options(page, program);
  page << ".SH VERBS\n";
  for (const CLI::App* verb : visible_verbs(program)) describe_verb(page, *verb, verb->get_name());
  page << ".SH NOTES\n" << troff(program.get_footer()) << "\n";
  return page.str();
}

std::string bash_completion(const CLI::App& program) {
  const std::string& name = program.get_name();
  std::string function = "_" + name;
  std::ranges::replace(function, '-', '_');
  std::vector<std::string> verbs = option_names(program);
  for (const CLI::App* verb : visible_verbs(program)) verbs.push_back(verb->get_name());
  std::ostringstream script;
  script << "# bash completion for " << name << ", made by `" << name << " --completion-bash`\n"
         << function << "() {\n"
         << "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         << "  local verb=${COMP_WORDS[1]} words=\"\" values=\"\" files=\"\"\n"
         << "  if [ \"$COMP_CWORD\" -le 1 ]; then\n"
         << "    COMPREPLY=($(compgen -W \"" << joined(verbs)
         << "\" -- \"$current\"))\n    return\n  fi\n"
         << "  case \"$verb ${COMP_WORDS[2]}\" in\n";
  for (const CLI::App* verb : visible_verbs(program)) {
    for (const CLI::App* inner : visible_verbs(*verb)) {
      if (inner == visible_verbs(*verb).front())
        script << "    ";
      else
        script << "|";
      script << "\"" << verb->get_name() << " " << inner->get_name() << "\"";
    }
    if (!visible_verbs(*verb).empty())
      script << ") [ \"$COMP_CWORD\" -le 2 ] || verb=\"$verb ${COMP_WORDS[2]}\" ;;\n";
  }
  script << "  esac\n  case $verb in\n";
  for (const CLI::App* verb : visible_verbs(program))
    complete_verb(script, *verb, verb->get_name());
  script << "  esac\n"
         << "  COMPREPLY=()\n"
         << "  if [ -n \"$values\" ]; then\n"
         << "    COMPREPLY=($(compgen -W \"$values\" -- \"$current\"))\n"
         << "    [ -n \"$files\" ] || return 0\n"
         << "  elif [[ $current == -* ]]; then\n"
         << "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         << "    return\n"
         << "  elif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
         << "    local verbs=$(tr ' ' '\\n' <<<\"$words\" | grep -v '^-')\n"
         << "    COMPREPLY=($(compgen -W \"$verbs\" -- \"$current\"))\n"
         << "  fi\n"
         << "  compopt -o filenames 2>/dev/null\n"
         << "  local file\n"  // a line each, because names may have spaces
         << "  while IFS= read -r file; do\n"
         << "    COMPREPLY+=(\"$file\")\n"
         << "  done < <(compgen -f -- \"$current\")\n"
         << "}\n"
         << "complete -F " << function << " " << name << "\n";
  return script.str();
}

}  // namespace tensorpress::cli
