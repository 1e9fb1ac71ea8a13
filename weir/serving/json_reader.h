// JsonReader: reads JSON text from front to back, without a tree of values in between.
//
// The caller asks for what it expects; a value that is something else is an INVALID_ARGUMENT that says where. NaN,
// Infinity and -Infinity are numbers, as TensorFlow Serving has them.
#ifndef WEIR_SERVING_JSON_READER_H_
#define WEIR_SERVING_JSON_READER_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "weir/base/status.h"

namespace weir {

class JsonReader {
 public:
  enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull, kEnd, kInvalid };

  explicit JsonReader(std::string_view text) : text_(text) {}

  Kind Peek();  // of the value that begins here
  // `element` reads one element.
  Status ReadArray(absl::FunctionRef<Status()> element);
  // `member` reads the value.
  Status ReadObject(absl::FunctionRef<Status(std::string key)> member);
  StatusOr<std::string> ReadString();
  StatusOr<bool> ReadBool();
  // The characters of a number.
  StatusOr<std::string_view> ReadNumber();
  // The text of the next value, which is checked on the way.
  StatusOr<std::string_view> SkipValue();
  // INVALID_ARGUMENT unless only white space is left.
  Status ExpectEnd();
  Status Error(std::string_view what) const;

 private:
  void SkipSpace();
  bool Take(char c);
  Status Skip(int depth);
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

// Whether the characters of a number have neither a fraction nor an exponent.
bool IsJsonInteger(std::string_view number);
// The number, rounded to the type. INVALID_ARGUMENT if it is none or too large.
StatusOr<double> JsonToDouble(std::string_view number);
StatusOr<float> JsonToFloat(std::string_view number);

}  // namespace weir

#endif  // WEIR_SERVING_JSON_READER_H_
