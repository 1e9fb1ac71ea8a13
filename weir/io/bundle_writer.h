// BundleWriter: writes a checkpoint of the second format (docs/formats/checkpoint.md).
#ifndef WEIR_IO_BUNDLE_WRITER_H_
#define WEIR_IO_BUNDLE_WRITER_H_

#include <memory>
#include <span>
#include <string>

#include "weir/base/export.h"
#include "weir/io/tensor_slice.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

// One thread at a time. Files get their names in Finish, whole; a writer that is dropped before leaves nothing.
class BundleWriter {
 public:
  // Makes the prefix's folder if it is missing.
  static StatusOr<std::unique_ptr<BundleWriter>> Create(const std::string& prefix);
  ~BundleWriter();

  // INVALID_ARGUMENT for a name that is there already or empty, UNIMPLEMENTED for elements that cannot be stored.
  Status Add(const std::string& name, const Tensor& tensor);
  // A part of a partitioned variable. A slice that is all of it is stored as a whole tensor.
  Status AddSlice(const std::string& name, const Shape& whole, const TensorSlice& slice, const Tensor& tensor);
  Status Finish();

 private:
  struct State;
  explicit BundleWriter(std::unique_ptr<State> state);
  Status AddEntry(const std::string& key, const Tensor& tensor);
  std::unique_ptr<State> state_;
};

// Makes one checkpoint of several: their data files are renamed, their index files replaced by one.
Status MergeBundles(std::span<const std::string> prefixes, const std::string& destination, bool allow_missing = false);

}  // namespace weir

#endif  // WEIR_IO_BUNDLE_WRITER_H_
