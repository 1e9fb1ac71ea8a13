#include "weir/tensor/npy.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"

namespace weir {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr bool kLittle = std::endian::native == std::endian::little;

template <typename... Args>
Status BadFile(const Args&... args) {
  return InvalidArgument("Cannot read .npy file: ", args...);
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// Reads the literal of a Python dictionary that the format allows: strings, booleans and a tuple of integers.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  StatusOr<Header> Parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!Take('{')) return BadFile("its header is not a dictionary");
    while (!Take('}')) {
      std::string key;
      if (!TakeString(&key) || !Take(':')) return BadFile("bad key in its header");
      if (key == "descr") {
        if (!TakeString(&header.descr)) return BadFile("only arrays of one element type are supported, not records");
        has_descr = true;
      } else if (key == "fortran_order") {
        if (TakeWord("True")) {
          header.fortran_order = true;
        } else if (!TakeWord("False")) {
          return BadFile("bad fortran_order");
        }
        has_order = true;
      } else if (key == "shape") {
        if (!TakeTuple(&header.dims)) return BadFile("bad shape");
        has_shape = true;
      } else {
        return BadFile("unknown key '", key, "' in its header");
      }
      if (!Take(',') && Peek() != '}') return BadFile("bad header");
    }
    if (Peek() != '\0') return BadFile("bad header");
    if (!has_descr || !has_order || !has_shape) return BadFile("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  char Peek() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n' || text_.front() == '\t')) {
      text_.remove_prefix(1);
    }
    return text_.empty() ? '\0' : text_.front();
  }
  bool Take(char c) {
    if (Peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    Peek();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool TakeString(std::string* out) {
    char quote = Peek();
    if (quote != '\'' && quote != '"') return false;
    size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool TakeTuple(std::vector<int64_t>* out) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      Peek();
      size_t digits = 0;
      while (digits < text_.size() && text_[digits] >= '0' && text_[digits] <= '9') ++digits;
      int64_t value;
      if (!absl::SimpleAtoi(ToAbsl(text_.substr(0, digits)), &value)) return false;
      text_.remove_prefix(digits);
      TakeWord("L");  // long integers of old Pythons
      out->push_back(value);
      if (out->size() > static_cast<size_t>(Shape::kMaxRank)) return false;
      if (!Take(',') && Peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
};

struct ElementType {
  DType dtype = DType::kInvalid;
  char kind = 0;          // NumPy's letter
  size_t item_bytes = 0;  // in the file
  size_t word_bytes = 1;  // what a byte order turns round
  bool swapped = false;
};

struct PlainName {
  std::string_view code;
  DType dtype;
};
constexpr PlainName kPlainNames[] = {
    {"f4", DType::kFloat},     {"f8", DType::kDouble},      {"f2", DType::kHalf},     {"i1", DType::kInt8},
    {"i2", DType::kInt16},     {"i4", DType::kInt32},       {"i8", DType::kInt64},    {"u1", DType::kUInt8},
    {"u2", DType::kUInt16},    {"u4", DType::kUInt32},      {"u8", DType::kUInt64},   {"b1", DType::kBool},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128}, {"V2", DType::kBFloat16},
};

StatusOr<ElementType> ParseElementType(std::string_view descr) {
  ElementType out;
  // ml_dtypes' types may be named outright.
  if (std::optional<DType> named = ParseDType(descr); named == DType::kBFloat16 || (named && SizeOf(*named) == 1)) {
    if (IsFloating(*named)) return ElementType{*named, 'V', SizeOf(*named), SizeOf(*named), !kLittle};
  }
  if (descr.size() < 2) return BadFile("bad element type '", descr, "'");
  char order = descr.front();
  if (order == '<' || order == '>' || order == '|' || order == '=') {
    descr.remove_prefix(1);
  } else {
    order = '=';
  }
  out.swapped = (order == '<' && !kLittle) || (order == '>' && kLittle);
  out.kind = descr.front();
  if (out.kind == 'S' || out.kind == 'U') {
    int64_t length;
    if (!absl::SimpleAtoi(ToAbsl(descr.substr(1)), &length) || length < 0 || length > INT32_MAX) {
      return BadFile("bad element type '", descr, "'");
    }
    out.dtype = DType::kString;
    out.word_bytes = out.kind == 'U' ? 4 : 1;
    out.item_bytes = static_cast<size_t>(length) * out.word_bytes;
    return out;
  }
  for (const PlainName& each : kPlainNames) {
    if (each.code != descr) continue;
    out.dtype = each.dtype;
    out.item_bytes = SizeOf(each.dtype);
    out.word_bytes = IsComplex(each.dtype) ? out.item_bytes / 2 : out.item_bytes;
    return out;
  }
  return BadFile("elements of type '", descr, "' are not supported");
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 63)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 63)));
    out->push_back(static_cast<char>(0x80 | (code & 63)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 63)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 63)));
    out->push_back(static_cast<char>(0x80 | (code & 63)));
  }
}

void ReadElement(const ElementType& type, const char* from, char* to) {
  if (type.kind == 'S') {
    std::string_view text(from, type.item_bytes);
    size_t end = text.find_last_not_of('\0');
    *reinterpret_cast<std::string*>(to) = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  } else if (type.kind == 'U') {
    auto* out = reinterpret_cast<std::string*>(to);
    std::u32string text(type.item_bytes / 4, U'\0');
    if (!text.empty()) std::memcpy(text.data(), from, type.item_bytes);
    text.resize(text.find_last_not_of(U'\0') + 1);
    for (char32_t c : text) AppendUtf8(type.swapped ? __builtin_bswap32(c) : c, out);
  } else if (type.kind == 'b') {
    *to = *from != 0;
  } else {
    std::memcpy(to, from, type.item_bytes);
    for (size_t word = 0; type.swapped && word < type.item_bytes; word += type.word_bytes) {
      std::reverse(to + word, to + word + type.word_bytes);
    }
  }
}

void ReadElements(const ElementType& type, const char* from, bool fortran_order, Tensor* out) {
  char* to = static_cast<char*>(out->raw_data());
  int64_t count = out->num_elements();
  size_t step = SizeOf(type.dtype);
  if (!fortran_order || out->rank() < 2) {
    if (IsPlain(type.dtype) && !type.swapped && type.kind != 'b') {
      if (count > 0) std::memcpy(to, from, out->num_bytes());
      return;
    }
    for (int64_t i = 0; i < count; ++i) ReadElement(type, from + i * type.item_bytes, to + i * step);
    return;
  }
  // The file's first dimension runs fastest: walk it in our order with an odometer of file offsets.
  const Shape& shape = out->shape();
  std::vector<int64_t> index(shape.rank(), 0), stride(shape.rank(), 1);
  for (int d = 1; d < shape.rank(); ++d) stride[d] = stride[d - 1] * shape.dim(d - 1);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    ReadElement(type, from + offset * type.item_bytes, to + i * step);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += stride[d];
      if (++index[d] < shape.dim(d)) break;
      offset -= stride[d] * shape.dim(d);
      index[d] = 0;
    }
  }
}

StatusOr<std::string> Descr(const Tensor& tensor, size_t* item_bytes) {
  *item_bytes = SizeOf(tensor.dtype());
  if (tensor.dtype() == DType::kString) {
    *item_bytes = 1;
    for (const std::string& s : tensor.span<std::string>()) {
      if (!s.empty() && s.back() == '\0') return InvalidArgument("NumPy drops zeros at the end of a string");
      *item_bytes = std::max(*item_bytes, s.size());
    }
    return Cat("|S", *item_bytes);
  }
  for (const PlainName& each : kPlainNames) {
    if (each.dtype == tensor.dtype()) return Cat(*item_bytes == 1 ? "|" : kLittle ? "<" : ">", each.code);
  }
  return InvalidArgument("NumPy has no type for ", Name(tensor.dtype()));
}

}  // namespace

StatusOr<Tensor> ParseNpy(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) return BadFile("it does not begin as one");
  int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3) return BadFile("format ", version, ".", static_cast<int>(bytes[7]));
  size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) return DataLoss("The .npy file is cut short in its header");
  size_t length = 0;
  for (size_t i = prefix; i-- > 8;) length = length << 8 | static_cast<uint8_t>(bytes[i]);
  if (bytes.size() - prefix < length) return DataLoss("The .npy file is cut short in its header");
  WEIR_ASSIGN_OR_RETURN(Header header, HeaderParser(bytes.substr(prefix, length)).Parse());
  WEIR_ASSIGN_OR_RETURN(ElementType type, ParseElementType(header.descr));
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(header.dims));
  bytes.remove_prefix(prefix + length);
  std::optional<int64_t> needed = CheckedMultiply(shape.num_elements(), static_cast<int64_t>(type.item_bytes));
  if (!needed || static_cast<uint64_t>(*needed) > bytes.size()) {
    return DataLoss("The .npy file is cut short: ", bytes.size(), " bytes of data for shape ", shape.ToString(),
                    " and element type '", header.descr, "'");
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(type.dtype, shape));
  ReadElements(type, bytes.data(), header.fortran_order, &out);
  return out;
}

StatusOr<std::string> FormatNpy(const Tensor& tensor) {
  if (!tensor.has_value()) return InvalidArgument("A tensor without a value cannot be written");
  if (!tensor.in_host_memory()) return Unimplemented("A tensor in the memory of a device cannot be written");
  size_t item_bytes;
  WEIR_ASSIGN_OR_RETURN(std::string descr, Descr(tensor, &item_bytes));
  std::string header = Cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (int64_t dim : tensor.shape().dims()) absl::StrAppend(&header, dim, tensor.rank() == 1 ? "," : ", ");
  if (tensor.rank() > 1) header.resize(header.size() - 2);
  header += "), }";
  // Data begin at a multiple of 64 bytes. Headers past 64 KiB need the second format.
  bool long_header = header.size() + 1 + 64 > 65535;
  size_t prefix = long_header ? 12 : 10;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += long_header ? '\x02' : '\x01';
  out += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
  out += header;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& s : tensor.span<std::string>()) out.append(s).append(item_bytes - s.size(), '\0');
  } else {
    out.append(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  }
  return out;
}

StatusOr<Tensor> ReadNpy(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return NotFound(path, ": ", std::strerror(errno));
  std::string bytes;
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), file.get())) bytes.append(buffer, count);
  if (std::ferror(file.get())) return DataLoss(path, ": ", std::strerror(errno));
  StatusOr<Tensor> out = ParseNpy(bytes);
  if (!out.ok()) return Annotate(out.status(), Cat(path, ": "));
  return out;
}

Status WriteNpy(const std::string& path, const Tensor& tensor) {
  WEIR_ASSIGN_OR_RETURN(std::string bytes, FormatNpy(tensor));
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return FailedPrecondition(path, ": ", std::strerror(errno));
  bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  written &= std::fclose(file) == 0;
  return written ? OkStatus() : DataLoss(path, ": ", std::strerror(errno));
}

}  // namespace weir
