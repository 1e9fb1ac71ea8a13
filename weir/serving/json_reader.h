// JsonReader: a JSON pull parser, without an intermediate tree of values.
//
// The caller requests the kind of value that it expects; any other value is an INVALID_ARGUMENT with its position. NaN,
// Infinity and -Infinity count as numbers, as in TensorFlow Serving.
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

  Kind Peek();  // the kind of the next value
  // `element` must read one element.
  Status ReadArray(absl::FunctionRef<Status()> element);
  // `member` must read the value.
  Status ReadObject(absl::FunctionRef<Status(std::string key)> member);
  StatusOr<std::string> ReadString();
  StatusOr<bool> ReadBool();
  // The text of a number.
  StatusOr<std::string_view> ReadNumber();
  // The text of the next value, which is validated.
  StatusOr<std::string_view> SkipValue();
  // INVALID_ARGUMENT unless only whitespace is left.
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

// Whether the text of a number has neither a fraction nor an exponent.
bool IsJsonInteger(std::string_view number);
// The number, rounded to double. INVALID_ARGUMENT if it is malformed or too large.
StatusOr<double> JsonToDouble(std::string_view number);
StatusOr<float> JsonToFloat(std::string_view number);

}  // namespace weir

#endif  // WEIR_SERVING_JSON_READER_H_
