#include "ptx_lexer.h"

#include <cctype>
#include <cstring>

namespace cuda_emulator {
namespace {

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_$%.", c) != nullptr;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t EndOfWord(std::string_view source, size_t at) {
  // `.reg.b32` is two words, `mov.b32` is one.
  const bool is_directive = source[at] == '.';
  if (is_directive) ++at;
  while (at < source.size()) {
    if (source[at] == '.' && is_directive) break;
    if (source[at] != '\0' && IsWordCharacter(source[at])) {
      ++at;
    } else if (source.substr(at, 2) == "::" && at + 2 < source.size() && std::isalpha(source[at + 2])) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

size_t EndOfNumber(std::string_view source, size_t at) {
  const bool decimal = !(source[at] == '0' && at + 1 < source.size() && std::isalpha(source[at + 1]));
  while (at < source.size()) {
    const char c = source[at];
    const bool sign_of_exponent = decimal && (c == '+' || c == '-') && (source[at - 1] == 'e' || source[at - 1] == 'E');
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && !sign_of_exponent) break;
    ++at;
  }
  return at;
}

}  // namespace

std::vector<Token> Tokenize(std::string_view source) {
  std::vector<Token> tokens;
  int line = 1;
  size_t at = 0;
  auto skip_to = [&](size_t end) {
    for (; at < end && at < source.size(); ++at) line += source[at] == '\n';
  };
  while (at < source.size() && source[at] != '\0') {
    const char c = source[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      skip_to(at + 1);
    } else if (source.substr(at, 2) == "//") {
      skip_to(source.find('\n', at));
    } else if (source.substr(at, 2) == "/*") {
      const size_t end = source.find("*/", at + 2);
      skip_to(end == std::string_view::npos ? end : end + 2);
    } else if (c == '"') {
      const size_t end = source.find('"', at + 1);
      tokens.push_back({TokenKind::kString, source.substr(at + 1, end - at - 1), line});
      skip_to(end == std::string_view::npos ? end : end + 1);
    } else {
      size_t end = at + 1;
      TokenKind kind = TokenKind::kPunctuation;
      if (IsDigit(c)) {
        kind = TokenKind::kNumber;
        end = EndOfNumber(source, at);
      } else if (IsWordCharacter(c)) {
        kind = TokenKind::kWord;
        end = EndOfWord(source, at);
      }
      tokens.push_back({kind, source.substr(at, end - at), line});
      at = end;
    }
  }
  tokens.push_back({TokenKind::kEnd, "", line});
  return tokens;
}

}  // namespace cuda_emulator
