#include "weir/framework/op_table_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace weir {
namespace {

// Tables are read at every start of a program: one look-up a character.
enum CharClass : uint8_t { kOther = 0, kLetter = 1, kDigit = 2, kBlank = 4 };
constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> out{};
  for (int c = 'a'; c <= 'z'; ++c) out[c] = out[c - 'a' + 'A'] = kLetter;
  for (int c = '0'; c <= '9'; ++c) out[c] = kDigit;
  for (char c : {' ', '\n', '\t', '\r'}) out[c] = kBlank;
  out['_'] = kLetter;
  return out;
}();
bool Is(char c, int classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }
bool IsWordStart(char c) { return Is(c, kLetter); }
bool IsDigit(char c) { return Is(c, kDigit); }
bool IsWordPart(char c) { return Is(c, kLetter | kDigit); }
bool IsBlank(char c) { return Is(c, kBlank); }

int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void OpTableLexer::Advance() {
  size_t at = position_;
  const size_t size = text_.size();
  while (at < size && (IsBlank(text_[at]) || text_[at] == '#')) {
    if (text_[at] == '#') {
      at = std::min(size, text_.find('\n', at));
    } else {
      ++at;
    }
  }
  start_ = at;
  if (at == size) {
    token_ = {TokenKind::kEnd, text_.substr(size)};
    position_ = size;
    return;
  }
  char c = text_[at];
  char second = at + 1 < size ? text_[at + 1] : '\0';
  size_t end = at + 1;
  if (IsWordStart(c)) {
    while (end < size &&
           (IsWordPart(text_[end]) || (text_[end] == '>' && end + 1 < size && IsWordStart(text_[end + 1]))))
      ++end;
    token_ = {TokenKind::kWord, text_.substr(at, end - at)};
  } else if (IsDigit(c) ||
             ((c == '-' || c == '+' || c == '.') && (IsDigit(second) || second == '.' || second == 'i'))) {
    while (end < size &&
           (IsWordPart(text_[end]) || text_[end] == '.' ||
            ((text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E'))))
      ++end;
    token_ = {TokenKind::kNumber, text_.substr(at, end - at)};
  } else if (c == '"') {
    while (end < size && text_[end] != '"' && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
    if (end < size && text_[end] == '"') {
      token_ = {TokenKind::kString, text_.substr(at + 1, end - at - 1)};
      ++end;
    } else {  // no closing quote: the lone quote is a mark that nothing expects
      end = at + 1;
      token_ = {TokenKind::kMark, text_.substr(at, 1)};
    }
  } else {
    if ((c == '-' && second == '>') || (c == '>' && second == '=')) ++end;
    token_ = {TokenKind::kMark, text_.substr(at, end - at)};
  }
  position_ = end;
}

bool OpTableLexer::ColonFollows() const {
  size_t at = position_;
  while (at < text_.size() && IsBlank(text_[at])) ++at;
  return at < text_.size() && text_[at] == ':';
}

std::string OpTableLexer::Describe() const {
  switch (token_.kind) {
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kString:
      return Cat("\"", token_.text, "\"");
    case TokenKind::kMark:
      if (token_.text == "\"") return "a string without its closing quote";
      [[fallthrough]];
    default:
      return Cat("'", token_.text, "'");
  }
}

Status OpTableLexer::Expect(std::string_view mark) {
  if (!Take(mark)) return Error("expected '", mark, "' but found ", Describe());
  return OkStatus();
}

StatusOr<std::string_view> OpTableLexer::ExpectWord(std::string_view what) {
  if (token_.kind != TokenKind::kWord) return Error("expected ", what, " but found ", Describe());
  return Next().text;
}

StatusOr<std::string> OpTableLexer::ExpectString(std::string_view what) {
  if (token_.kind != TokenKind::kString) return Error("expected ", what, " in quotes but found ", Describe());
  StatusOr<std::string> text = Unescape(token_.text);
  if (!text.ok()) return Error(Message(text.status()));
  Advance();
  return text;
}

StatusOr<int64_t> OpTableLexer::ExpectInt(std::string_view what) {
  int64_t value = 0;
  const char* end = token_.text.data() + token_.text.size();
  std::from_chars_result result{nullptr, std::errc::invalid_argument};
  if (token_.kind == TokenKind::kNumber) result = std::from_chars(token_.text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end)
    return Error("expected ", what, ", an int64, but found ", Describe());
  Advance();
  return value;
}

Status OpTableLexer::ErrorAt(size_t position, const std::string& message) const {
  int line = 1, column = 1;
  for (size_t i = 0; i < position && i < text_.size(); ++i) {
    ++column;
    if (text_[i] == '\n') {
      ++line;
      column = 1;
    }
  }
  return InvalidArgument("line ", line, ", column ", column, ": ", message);
}

StatusOr<std::string> Unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    char c = ++i < text.size() ? text[i] : '\0';
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == 'r') {
      out += '\r';
    } else if (c == '\\' || c == '"') {
      out += c;
    } else if (c == 'x' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      return InvalidArgument("unknown escape in a string; known are \\n \\t \\r \\\\ \\\" \\xHH");
    }
  }
  return out;
}

std::string Quote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace weir
