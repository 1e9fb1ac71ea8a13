// The lexer of op tables; for op_table.cc only.
#ifndef WEIR_FRAMEWORK_OP_TABLE_LEXER_H_
#define WEIR_FRAMEWORK_OP_TABLE_LEXER_H_

#include <string>
#include <string_view>

#include "weir/base/status.h"

namespace weir {

enum class TokenKind { kEnd, kWord, kNumber, kString, kMark };

// `text` points into the table; for a string, it is the text between the quotes, with escapes not yet replaced.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
};

// A lexer with one token of lookahead. The text must outlive it. Line ends count as blanks; '#' starts a comment. A
// word may contain '>', which separates the namespaces of op names; "->" and ">=" are separate tokens.
class OpTableLexer {
 public:
  explicit OpTableLexer(std::string_view text) : text_(text) { Advance(); }

  const Token& peek() const { return token_; }
  Token Next() {
    Token token = token_;
    Advance();
    return token;
  }
  bool PeekIs(std::string_view mark) const { return token_.kind == TokenKind::kMark && token_.text == mark; }
  bool PeekIsWord(std::string_view word) const { return token_.kind == TokenKind::kWord && token_.text == word; }
  // Consumes the token if it is next.
  bool Take(std::string_view mark) {
    if (!PeekIs(mark)) return false;
    Advance();
    return true;
  }
  // True if the first character after the next token is a ':'.
  bool ColonFollows() const;

  Status Expect(std::string_view mark);
  StatusOr<std::string_view> ExpectWord(std::string_view what);
  StatusOr<std::string> ExpectString(std::string_view what);
  StatusOr<int64_t> ExpectInt(std::string_view what);

  // INVALID_ARGUMENT with the position of the next token, or of a piece of a token's text.
  template <typename... Args>
  Status Error(const Args&... args) const {
    return ErrorAt(start_, Cat(args...));
  }
  template <typename... Args>
  Status ErrorAt(std::string_view where, const Args&... args) const {
    return ErrorAt(static_cast<size_t>(where.data() - text_.data()), Cat(args...));
  }

 private:
  Status ErrorAt(size_t position, const std::string& message) const;
  std::string Describe() const;
  void Advance();

  std::string_view text_;
  size_t position_ = 0;  // after the next token
  size_t start_ = 0;     // of the next token
  Token token_;
};

// Replaces \n \t \r \\ \" and \xHH.
StatusOr<std::string> Unescape(std::string_view text);
std::string Quote(std::string_view text);

}  // namespace weir

#endif  // WEIR_FRAMEWORK_OP_TABLE_LEXER_H_
