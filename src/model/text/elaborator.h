// The work of elaborate(): statements are run once, in order, and every call of an operator makes a
// node.
#pragma once

#include <map>
#include <set>

#include "base/errors.h"
#include "model/text/arguments.h"
#include "model/text/elaborate.h"

namespace tensorpress::model {

/// What a name stands for or an expression gives: tensors or an attribute.
struct Meaning {
  std::vector<ValueId> tensors;
  bool list = false;  // tensors in brackets, for cat([a, b])
  Attribute attribute;
  bool is_tensor() const { return !tensors.empty(); }
};

struct Scope {
  std::map<std::string, Meaning> names;
  std::string path;     // of the instance, with a dot at the end, or empty
  bool shared = false;  // parameters exist already
  std::vector<Meaning> results;
  bool returned = false;
  std::vector<std::string> calls;  // blocks that are being expanded
};

// What a hostile text may ask for. Far above any model, and far below what would take minutes or
// gigabytes.
inline constexpr std::size_t kMostSteps = 2'000'000;     // statements and expressions run
inline constexpr std::size_t kMostNodes = 20'000;        // operations
inline constexpr std::size_t kMostValues = 60'000;       // tensors, parameters among them
inline constexpr std::size_t kMostTensors = 1024;        // that one operation reads
inline constexpr std::size_t kMostDeclarations = 1024;   // inputs and targets; outputs
inline constexpr std::size_t kMostDimensions = 64;       // as in PyTorch
inline constexpr std::size_t kLongestName = 1024;        // with the path before it
inline constexpr std::size_t kDeepestCalls = 64;         // of blocks in blocks
inline constexpr std::size_t kDeepestEvaluation = 1000;  // expressions in expressions and blocks

class Elaborator {
 public:
  explicit Elaborator(const SourceText& source) : source_(source) {}

  Result<Graph> run();

 private:
  template <class... Parts>
  Error error(Place place, const Parts&... parts) const {
    return source_.error_at(place, text(parts...));
  }

  // --- Statements --------------------------------------------------------------------------------
  Result<void> run_body(const std::vector<Statement>& body, Scope& scope);
  Result<void> run_statement(const Statement& statement, Scope& scope);
  Result<void> repeat(const Statement& statement, Scope& scope);
  /// A number, or where `symbols` are allowed, a name that stays open.
  Result<Dim> declared_extent(const TextExpression& expression, Scope& scope, bool symbols);
  Result<TensorType> declared_type(const Statement& statement, Scope& scope, bool symbols);
  Result<ValueId> add_value(std::string name, TensorType type, Role role, Place place);
  Result<void> declare_input(const Statement& statement, Scope& scope);
  Result<void> declare_output(const Statement& statement, Scope& scope);
  Result<void> declare_parameter(const Statement& statement, Scope& scope);
  /// A further name of a parameter that a line above has made.
  Result<void> declare_again(const Statement& statement, const TensorType& type,
                             const Meaning& given, Scope& scope);
  Result<void> set_loss(const Statement& statement, Scope& scope);
  Result<void> assign(const Statement& statement, Scope& scope);

  // --- Expressions -------------------------------------------------------------------------------
  Result<std::int64_t> whole_number(const TextExpression& expression, Scope& scope);
  Result<Meaning> evaluate(const TextExpression& expression, Scope& scope);
  Result<Meaning> evaluate_kind(const TextExpression& expression, Scope& scope);
  Result<Meaning> evaluate_list(const TextExpression& expression, Scope& scope);
  Result<Meaning> evaluate_unary(const TextExpression& expression, Scope& scope);
  Result<Meaning> evaluate_binary(const TextExpression& expression, Scope& scope);

  // --- Calls -------------------------------------------------------------------------------------
  /// Replaces {expressions} in a path by their whole numbers or words.
  Result<std::string> fill_path(const std::string& path, Place place, Scope& scope);
  Result<Meaning> evaluate_call(const TextExpression& call, Scope& scope);
  Result<Meaning> call_block(const Statement& block, const TextExpression& call,
                             const std::string& path, bool shared, Scope& scope);
  Result<Meaning> call_operator(const Operator& op, const TextExpression& call, std::string path,
                                bool shared, Scope& scope);
  /// An operator that stands for a sign between tensors.
  Result<Meaning> apply(const char* name, std::vector<ValueId> tensors,
                        std::vector<std::pair<std::string, Attribute>> given, Place place,
                        Scope& scope);
  std::string unique_name(const std::string& wanted);
  Result<Meaning> make_node(const Operator& op, const CallArguments& arguments,
                            Attributes attributes, std::string path, bool shared, Place place,
                            Scope& scope);

  // --- Parameters --------------------------------------------------------------------------------
  Result<ValueId> existing_parameter(const std::string& path, Place place, const Scope& scope);
  Result<ValueId> parameter_of(const ParameterSpec& spec, const CallArguments& arguments,
                               const Scope& owner, Place place);
  Result<ValueId> find_or_make_parameter(const ParameterSpec& spec, const Scope& owner,
                                         Place place);

  // --- The whole ---------------------------------------------------------------------------------
  Result<void> finish();

  const SourceText& source_;
  Graph graph_;
  std::map<std::string, const Statement*> blocks_;
  std::map<std::string, ValueId> parameters_;
  std::set<std::string> instances_;
  std::set<std::string> names_;
  std::map<std::string, std::size_t> numbers_;
  std::size_t steps_ = 0;
  std::size_t evaluating_ = 0;           // expressions, one inside the other
  std::int64_t parameter_elements_ = 0;  // together
};

}  // namespace tensorpress::model
