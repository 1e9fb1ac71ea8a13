// Tensors between their memory and the wire's TensorProto, without a message object in between.
#ifndef WEIR_DISTRIBUTED_WIRE_TENSOR_WIRE_H_
#define WEIR_DISTRIBUTED_WIRE_TENSOR_WIRE_H_

#include <string_view>

#include "weir/distributed/wire/wire_buffer.h"
#include "weir/tensor/tensor.h"

namespace google::protobuf::io {
class CodedInputStream;
}

namespace weir {

// Reads a TensorProto up to the stream's limit. Bytes of plain types go straight into the tensor's memory. False if the
// bytes are no message at all; a message that is no valid tensor gives an error in `tensor` and leaves the stream
// behind it.
bool ReadTensorProto(google::protobuf::io::CodedInputStream* in, StatusOr<Tensor>* tensor);

// A TensorProto as it will be written: everything in tensor_content, as TensorFlow's servers do.
class EncodedTensor {
 public:
  // Fails for values that cannot leave the process.
  static StatusOr<EncodedTensor> Make(const Tensor& tensor);
  size_t size() const { return head_.size() + content_size_; }
  // REQUIRES: called once.
  void AppendTo(WireBuffer* out) &&;

 private:
  Tensor tensor_;        // no value if the content is in content_
  std::string head_;     // all but the content
  std::string content_;  // of types that are not plain
  size_t content_size_ = 0;
};

// Field `field` of a message: a TensorProto; or a NamedTensorProto.
Status AppendTensorField(int field, const Tensor& tensor, WireBuffer* out);
Status AppendNamedTensorField(int field, std::string_view name, const Tensor& tensor, WireBuffer* out);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_TENSOR_WIRE_H_
