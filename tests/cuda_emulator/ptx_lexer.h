// PTX text as tokens.
#ifndef WEIR_TESTS_CUDA_EMULATOR_PTX_LEXER_H_
#define WEIR_TESTS_CUDA_EMULATOR_PTX_LEXER_H_

#include <string>
#include <string_view>
#include <vector>

namespace cuda_emulator {

enum class TokenKind { kEnd, kWord, kNumber, kString, kPunctuation };

// A word may hold dots and double colons: `ld.global.L1::evict_last.v4.u32` and `%tid.x` are one word each.
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  int line = 0;

  bool Is(char c) const { return kind == TokenKind::kPunctuation && text[0] == c; }
  bool Is(std::string_view word) const { return kind == TokenKind::kWord && text == word; }
};

// The tokens point into `source` and end with one of kind kEnd.
std::vector<Token> Tokenize(std::string_view source);

}  // namespace cuda_emulator

#endif  // WEIR_TESTS_CUDA_EMULATOR_PTX_LEXER_H_
