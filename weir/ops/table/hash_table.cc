// HashTable, MutableHashTable, MutableHashTableOfTensors. Values live in rows of one growing tensor; the hash map knows
// only the row of each key, so it is compiled once for each type of key and not for each pair of types.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "weir/ops/table/lookup_table.h"
#include "weir/tensor/copy_elements.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

// Rows of `row_size` elements of any type, without gaps.
class Rows {
 public:
  Rows(DType dtype, int64_t row_size) : dtype_(dtype), row_size_(row_size) {}

  int64_t size() const { return size_; }
  int64_t row_size() const { return row_size_; }
  const Tensor& data() const { return data_; }
  int64_t bytes() const { return static_cast<int64_t>(data_.num_bytes()); }

  Status Append(const Tensor& from, int64_t row) {
    WEIR_RETURN_IF_ERROR(Reserve(size_ + 1));
    Set(size_, from, row);
    ++size_;
    return OkStatus();
  }
  void Set(int64_t place, const Tensor& from, int64_t row) {
    CopyElements(from, row * row_size_, data_, place * row_size_, row_size_);
  }
  // Moves the last row into `place`.
  void RemoveSwap(int64_t place) {
    --size_;
    if (place != size_) CopyElements(data_, size_ * row_size_, data_, place * row_size_, row_size_);
  }
  void Clear() {
    data_ = Tensor();
    size_ = 0;
    capacity_ = 0;
  }
  Status Reserve(int64_t size) {
    if (size <= capacity_) return OkStatus();
    int64_t capacity = std::max<int64_t>({size, capacity_ * 2, 16});
    Shape shape;
    WEIR_RETURN_IF_ERROR(shape.AddDim(capacity));
    WEIR_RETURN_IF_ERROR(shape.AddDim(row_size_));
    WEIR_ASSIGN_OR_RETURN(Tensor grown, Tensor::Allocate(dtype_, shape));
    if (size_ > 0) CopyElements(data_, 0, grown, 0, size_ * row_size_);
    data_ = std::move(grown);
    capacity_ = capacity;
    return OkStatus();
  }

 private:
  const DType dtype_;
  const int64_t row_size_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
  Tensor data_;
};

template <typename K>
std::string KeyText(const K& key) {
  return Cat(key);
}

// Element `i` as messages show it.
std::string ValueText(const Tensor& values, int64_t i) {
  std::string text;
  DispatchDType(values.dtype(), TypeList<std::string, int32_t, int64_t, float, double, bool>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    text = Cat(values.data<T>()[i]);
  });
  return text;
}

template <typename K>
class HashTable : public LookupTable {
 public:
  HashTable(DType value_dtype, const Shape& value_shape, bool is_static)
      : LookupTable(kDTypeOf<K>, value_dtype, Shape(), value_shape),
        is_static_(is_static),
        is_initialized_(!is_static),
        values_(value_dtype, value_shape.num_elements()) {}

  bool is_initializable() const override { return is_static_; }
  bool is_initialized() const override {
    absl::ReaderMutexLock lock(&mu_);
    return is_initialized_;
  }
  std::string DebugString() const override { return Cat("A table of size: ", Size()); }
  int64_t Size() const override {
    absl::ReaderMutexLock lock(&mu_);
    return values_.size();
  }
  int64_t MemoryUsed() const override {
    absl::ReaderMutexLock lock(&mu_);
    return values_.bytes() + static_cast<int64_t>(rows_.capacity() * (sizeof(K) + sizeof(int64_t) + 1));
  }

  StatusOr<Tensor> Find(const Tensor& keys, const Tensor& default_value) const override {
    if (!is_initialized()) return FailedPrecondition("Table not initialized.");
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeys(keys));
    WEIR_ASSIGN_OR_RETURN(bool full_default, CheckDefault(keys, default_value));
    WEIR_ASSIGN_OR_RETURN(Shape shape, ValuesShape(keys));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(value_dtype(), shape));
    const K* key = keys.data<K>();
    absl::ReaderMutexLock lock(&mu_);
    int64_t size = values_.row_size();
    for (int64_t i = 0; i < count; ++i) {
      auto found = rows_.find(key[i]);
      if (found != rows_.end()) {
        CopyElements(values_.data(), found->second * size, out, i * size, size);
      } else {
        CopyElements(default_value, full_default ? i * size : 0, out, i * size, size);
      }
    }
    return out;
  }

  Status Insert(const Tensor& keys, const Tensor& values) override {
    if (is_static_) return Unimplemented("Insert not supported by InitializableLookupTable implementations");
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeysAndValues(keys, values));
    absl::MutexLock lock(&mu_);
    return InsertLocked(keys, values, count);
  }

  Status Remove(const Tensor& keys) override {
    if (is_static_) return Unimplemented("Remove not supported by InitializableLookupTable implementations");
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeys(keys));
    const K* key = keys.data<K>();
    absl::MutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      auto found = rows_.find(key[i]);
      if (found == rows_.end()) continue;
      int64_t row = found->second;
      rows_.erase(found);
      values_.RemoveSwap(row);
      if (row != values_.size()) {
        order_[row] = std::move(order_.back());
        rows_[order_[row]] = row;
      }
      order_.pop_back();
    }
    return OkStatus();
  }

  // Importing is one way to initialise a static table; once it has its entries it ignores more.
  Status Import(const Tensor& keys, const Tensor& values) override {
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeysAndValues(keys, values));
    if (is_static_) return is_initialized() ? OkStatus() : Initialize(keys, values);
    absl::MutexLock lock(&mu_);
    rows_.clear();
    order_.clear();
    values_.Clear();
    return InsertLocked(keys, values, count);
  }

  StatusOr<std::pair<Tensor, Tensor>> Export() const override {
    absl::ReaderMutexLock lock(&mu_);
    if (!is_initialized_) return Aborted("HashTable is not initialized.");
    int64_t size = values_.size();
    WEIR_ASSIGN_OR_RETURN(Tensor keys, Tensor::Allocate(key_dtype(), Shape({size})));
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape({size}).Concat(value_shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(value_dtype(), shape));
    std::copy(order_.begin(), order_.end(), keys.data<K>());
    if (size > 0) CopyElements(values_.data(), 0, values, 0, values.num_elements());
    return std::make_pair(std::move(keys), std::move(values));
  }

  Status Initialize(const Tensor& keys, const Tensor& values) override {
    if (!is_static_) return LookupTable::Initialize(keys, values);
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeysAndValues(keys, values));
    absl::MutexLock lock(&mu_);
    if (is_initialized_) {
      if (count == values_.size()) return OkStatus();
      return FailedPrecondition("Table was already initialized with different data.");
    }
    Status status = InitializeLocked(keys, values, count);
    if (!status.ok()) {
      rows_.clear();
      order_.clear();
      values_.Clear();
      return status;
    }
    is_initialized_ = true;
    return OkStatus();
  }

 private:
  Status InsertLocked(const Tensor& keys, const Tensor& values, int64_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const K* key = keys.data<K>();
    for (int64_t i = 0; i < count; ++i) {
      auto found = rows_.find(key[i]);
      if (found != rows_.end()) {
        values_.Set(found->second, values, i);
        continue;
      }
      WEIR_RETURN_IF_ERROR(AppendLocked(key[i], values, i));
    }
    return OkStatus();
  }

  // As InsertLocked, but a key cannot have two values.
  Status InitializeLocked(const Tensor& keys, const Tensor& values, int64_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const K* key = keys.data<K>();
    WEIR_RETURN_IF_ERROR(values_.Reserve(count));
    rows_.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      auto found = rows_.find(key[i]);
      if (found == rows_.end()) {
        WEIR_RETURN_IF_ERROR(AppendLocked(key[i], values, i));
        continue;
      }
      std::string old_value = ValueText(values_.data(), found->second);
      std::string new_value = ValueText(values, i);
      if (old_value != new_value) {
        return FailedPrecondition("HashTable has different value for same key. Key ", KeyText(key[i]), " has ",
                                  old_value, " and trying to add value ", new_value);
      }
    }
    return OkStatus();
  }

  Status AppendLocked(const K& key, const Tensor& values, int64_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    int64_t row = values_.size();
    WEIR_RETURN_IF_ERROR(values_.Append(values, i));
    rows_.emplace(key, row);
    order_.push_back(key);
    return OkStatus();
  }

  const bool is_static_;
  mutable absl::Mutex mu_;
  bool is_initialized_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<K, int64_t> rows_ ABSL_GUARDED_BY(mu_);
  std::vector<K> order_ ABSL_GUARDED_BY(mu_);  // the key of each row
  Rows values_ ABSL_GUARDED_BY(mu_);
};

std::shared_ptr<LookupTable> MakeTable(DType key_dtype, DType value_dtype, const Shape& value_shape, bool is_static) {
  std::shared_ptr<LookupTable> table;
  DispatchDType(key_dtype, TypeList<std::string, int32_t, int64_t>{}, [&](auto tag) {
    using K = typename decltype(tag)::type;
    table = std::make_shared<HashTable<K>>(value_dtype, value_shape, is_static);
  });
  return table;
}

}  // namespace

std::shared_ptr<LookupTable> MakeStaticTable(DType key_dtype, DType value_dtype) {
  return MakeTable(key_dtype, value_dtype, Shape(), /*is_static=*/true);
}

std::shared_ptr<LookupTable> MakeMutableTable(DType key_dtype, DType value_dtype, const Shape& value_shape) {
  return MakeTable(key_dtype, value_dtype, value_shape, /*is_static=*/false);
}

}  // namespace weir
