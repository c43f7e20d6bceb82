// SPDX-License-Identifier: Apache-2.0
// What does a Go template say? Its language as text/template documents it, as far as rules on nodes
// use it. Any author of a NodeFeatureRule writes templates, so nesting is bounded.
#include <optional>

#include "base/text.h"
#include "nfd/go_template_functions.h"
#include "nfd/go_template_lexer.h"
#include "nfd/go_template_tree.h"

namespace gantry::nfd {
namespace {

constexpr int kDeepest = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<Tree> Parse() {
    Tree tree;
    TRY(ParseList(tree.nodes, 0));
    if (!ended_by_.empty()) {
      return lexer_.Wrong(format("unexpected {{{{{}}}}}", ended_by_));
    }
    return tree;
  }

 private:
  Status Advance() {
    TRY_ASSIGN(token_, lexer_.Next());
    return {};
  }
  [[nodiscard]] bool Is(Token::Kind kind, std::string_view text) const {
    return token_.kind == kind && token_.text == text;
  }
  [[nodiscard]] bool AtEnd() const { return token_.kind == Token::Kind::kEnd; }

  // Nodes up to `end`, `else` or the end of the template; ended_by_ says which.
  Status ParseList(std::vector<Node>& nodes, int depth) {
    if (depth > kDeepest) {
      return lexer_.Wrong("nested too deeply");
    }
    while (true) {
      Node text;
      const bool action = lexer_.Text(text.text);
      if (!text.text.empty()) {
        nodes.push_back(std::move(text));
      }
      if (!action) {
        ended_by_ = "";
        return {};
      }
      TRY_ASSIGN(const bool comment, lexer_.SkipComment());
      if (comment) {
        continue;
      }
      TRY(Advance());
      if (Is(Token::Kind::kWord, "end") || Is(Token::Kind::kWord, "else")) {
        ended_by_ = token_.text;
        return Advance();
      }
      TRY(ParseAction(nodes.emplace_back(), depth));
    }
  }

  Status ParseAction(Node& node, int depth) {
    static constexpr std::pair<std::string_view, Node::Kind> kBlocks[] = {
        {"if", Node::Kind::kIf}, {"range", Node::Kind::kRange}, {"with", Node::Kind::kWith}};
    static constexpr std::pair<std::string_view, Node::Kind> kLeaves[] = {
        {"break", Node::Kind::kBreak}, {"continue", Node::Kind::kContinue}};
    for (const auto& [word, kind] : kBlocks) {
      if (Is(Token::Kind::kWord, word)) {
        node.kind = kind;
        TRY(Advance());
        return ParseBlock(node, depth);
      }
    }
    for (const auto& [word, kind] : kLeaves) {
      if (Is(Token::Kind::kWord, word)) {
        node.kind = kind;
        if (ranges_ == 0) {
          return lexer_.Wrong(format("{{{{{}}}}} outside of {{{{range}}}}", word));
        }
        TRY(Advance());
        return AtEnd() ? Status() : lexer_.Wrong(format("unexpected \"{}\"", token_.text));
      }
    }
    node.kind = Node::Kind::kAction;
    return ParseWholePipeline(node.pipeline, 1);
  }

  // After the keyword: a pipeline, the body, and what follows else.
  Status ParseBlock(Node& node, int depth) {
    TRY(ParseWholePipeline(node.pipeline, node.kind == Node::Kind::kRange ? 2 : 1));
    ranges_ += node.kind == Node::Kind::kRange ? 1 : 0;
    TRY(ParseList(node.body, depth + 1));
    ranges_ -= node.kind == Node::Kind::kRange ? 1 : 0;
    if (ended_by_ == "else") {
      if (!AtEnd()) {  // `else if` is an if inside the else, without an end of its own
        if (!Is(Token::Kind::kWord, node.kind == Node::Kind::kWith ? "with" : "if")) {
          return lexer_.Wrong("unexpected word after else");
        }
        Node& inner = node.otherwise.emplace_back();
        inner.kind = node.kind == Node::Kind::kWith ? Node::Kind::kWith : Node::Kind::kIf;
        TRY(Advance());
        if (depth > kDeepest) {
          return lexer_.Wrong("nested too deeply");
        }
        return ParseBlock(inner, depth + 1);
      }
      TRY(ParseList(node.otherwise, depth + 1));
    }
    if (ended_by_ != "end" || !AtEnd()) {
      return lexer_.Wrong("a block has no end");
    }
    return {};
  }

  Status ParseWholePipeline(Pipeline& pipeline, size_t most_variables) {
    TRY(ParseVariables(pipeline, most_variables));
    TRY(ParseCommands(pipeline, 0));
    return AtEnd() ? Status() : lexer_.Wrong(format("unexpected \"{}\"", token_.text));
  }

  // `$x :=`, `$x =`, `$i, $x :=`. A variable that is only read becomes the first operand.
  Status ParseVariables(Pipeline& pipeline, size_t most) {
    while (token_.kind == Token::Kind::kVariable && pipeline.variables.size() < most) {
      const Token variable = token_;
      TRY(Advance());
      const bool assigns = Is(Token::Kind::kSign, ":=") || Is(Token::Kind::kSign, "=");
      if (!assigns && !(Is(Token::Kind::kSign, ",") && pipeline.variables.size() + 1 < most)) {
        if (!pipeline.variables.empty()) {
          return lexer_.Wrong("a variable is not followed by :=");
        }
        read_ = variable;
        return {};
      }
      pipeline.variables.push_back(variable.text);
      pipeline.declares = token_.text == ":=";
      TRY(Advance());
      if (assigns) {
        return {};
      }
    }
    return {};
  }

  Status ParseCommands(Pipeline& pipeline, int depth) {
    if (depth > kDeepest) {
      return lexer_.Wrong("nested too deeply");
    }
    do {
      if (!pipeline.commands.empty()) {
        TRY(Advance());
      }
      TRY(ParseCommand(pipeline.commands.emplace_back(), depth));
    } while (Is(Token::Kind::kSign, "|"));
    return {};
  }

  Status ParseCommand(Command& command, int depth) {
    if (read_.has_value()) {
      command.push_back({.kind = Operand::Kind::kVariable,
                         .name = read_->text,
                         .literal = {},
                         .pipeline = nullptr,
                         .fields = {}});
      read_.reset();
      TRY(ParseFields(command.back()));
    }
    while (!AtEnd() && !Is(Token::Kind::kSign, "|") && !Is(Token::Kind::kSign, ")")) {
      TRY(ParseOperand(command.emplace_back(), depth));
    }
    if (command.empty()) {
      return lexer_.Wrong("an empty command");
    }
    if (command.size() > 1 && command.front().kind != Operand::Kind::kFunction) {
      return lexer_.Wrong("only functions take arguments");
    }
    return {};
  }

  Status ParseOperand(Operand& operand, int depth) {
    switch (token_.kind) {
      case Token::Kind::kDot:
        break;
      case Token::Kind::kField:
        operand.fields.push_back(token_.text);
        break;
      case Token::Kind::kVariable:
        operand.kind = Operand::Kind::kVariable;
        operand.name = token_.text;
        break;
      case Token::Kind::kText:
        operand.kind = Operand::Kind::kLiteral;
        operand.literal.is = token_.text;
        break;
      case Token::Kind::kNumber: {
        operand.kind = Operand::Kind::kLiteral;
        const std::optional<Value> number = ParseNumber(token_.text);
        if (!number.has_value()) {
          return lexer_.Wrong(format("\"{}\" is no number", token_.text));
        }
        operand.literal = *number;
        break;
      }
      case Token::Kind::kWord:
        TRY(ParseWord(operand));
        break;
      default:
        return ParseParenthesis(operand, depth);
    }
    TRY(Advance());
    return ParseFields(operand);
  }

  Status ParseWord(Operand& operand) {
    operand.kind = Operand::Kind::kLiteral;
    if (token_.text == "true" || token_.text == "false") {
      operand.literal.is = token_.text == "true";
    } else if (token_.text != "nil") {
      if (FindFunction(token_.text) == nullptr) {
        return lexer_.Wrong(format("unknown function \"{}\"", token_.text));
      }
      operand.kind = Operand::Kind::kFunction;
      operand.name = token_.text;
    }
    return {};
  }

  Status ParseParenthesis(Operand& operand, int depth) {
    if (!Is(Token::Kind::kSign, "(")) {
      return lexer_.Wrong(format("unexpected \"{}\"", token_.text));
    }
    TRY(Advance());
    auto inner = std::make_shared<Pipeline>();
    TRY(ParseCommands(*inner, depth + 1));
    if (!Is(Token::Kind::kSign, ")")) {
      return lexer_.Wrong("unclosed parenthesis");
    }
    operand.kind = Operand::Kind::kPipeline;
    operand.pipeline = std::move(inner);
    TRY(Advance());
    return ParseFields(operand);
  }

  // `.a.b` directly after an operand.
  Status ParseFields(Operand& operand) {
    while (token_.kind == Token::Kind::kField && !token_.spaced) {
      operand.fields.push_back(token_.text);
      TRY(Advance());
    }
    return {};
  }

  Lexer lexer_;
  Token token_;
  std::optional<Token> read_;  // a variable read ahead, the next operand
  std::string ended_by_;
  int ranges_ = 0;  // enclosing this position
};

}  // namespace

Result<Tree> ParseTree(std::string_view text) { return Parser(text).Parse(); }

}  // namespace gantry::nfd
