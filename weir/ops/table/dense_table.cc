// MutableDenseHashTable: open addressing with quadratic probing over two flat tensors. Two keys that the user gives up
// mark empty and deleted buckets. Integer keys hash and probe as in TensorFlow, so Export lists the same buckets.
#include <algorithm>
#include <optional>

#include "absl/hash/hash.h"
#include "weir/ops/table/lookup_table.h"
#include "weir/tensor/copy_elements.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

uint64_t HashElement(int64_t key) { return static_cast<uint64_t>(key); }
uint64_t HashElement(int32_t key) { return static_cast<uint64_t>(static_cast<int64_t>(key)); }
uint64_t HashElement(const std::string& key) { return absl::Hash<std::string>{}(key); }

uint64_t CombineHashes(uint64_t a, uint64_t b) { return a ^ (b + 0x9e3779b97f4a7800ULL + (a << 10) + (a >> 4)); }

template <typename K>
class DenseTable : public LookupTable {
 public:
  explicit DenseTable(const DenseTableOptions& options)
      : LookupTable(kDTypeOf<K>, options.value_dtype, options.empty_key.shape(), options.value_shape),
        empty_key_(options.empty_key),
        deleted_key_(options.deleted_key),
        key_size_(options.empty_key.num_elements()),
        value_size_(options.value_shape.num_elements()),
        max_load_factor_(options.max_load_factor) {}

  Status Init(int64_t num_buckets) {
    absl::MutexLock lock(&mu_);
    return ResetLocked(num_buckets);
  }

  std::string DebugString() const override { return Cat("A table of size: ", Size()); }
  int64_t Size() const override {
    absl::ReaderMutexLock lock(&mu_);
    return num_entries_;
  }
  int64_t MemoryUsed() const override {
    absl::ReaderMutexLock lock(&mu_);
    return static_cast<int64_t>(keys_.num_bytes() + values_.num_bytes());
  }

  StatusOr<Tensor> Find(const Tensor& keys, const Tensor& default_value) const override {
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckRows(keys));
    WEIR_ASSIGN_OR_RETURN(bool full_default, CheckDefault(keys, default_value));
    WEIR_ASSIGN_OR_RETURN(Shape shape, ValuesShape(keys));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(value_dtype(), shape));
    absl::ReaderMutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      std::optional<int64_t> bucket = FindLocked(keys.data<K>() + i * key_size_);
      if (bucket) {
        CopyElements(values_, *bucket * value_size_, out, i * value_size_, value_size_);
      } else {
        CopyElements(default_value, full_default ? i * value_size_ : 0, out, i * value_size_, value_size_);
      }
    }
    return out;
  }

  Status Insert(const Tensor& keys, const Tensor& values) override {
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckRows(keys));
    WEIR_RETURN_IF_ERROR(CheckKeysAndValues(keys, values).status());
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(MakeRoomLocked(count));
    for (int64_t i = 0; i < count; ++i) {
      const K* key = keys.data<K>() + i * key_size_;
      if (InsertLocked(key, values, i)) continue;
      // Only deleted buckets stood in the way.
      WEIR_RETURN_IF_ERROR(RebuildLocked(num_buckets_));
      InsertLocked(key, values, i);
    }
    return OkStatus();
  }

  Status Remove(const Tensor& keys) override {
    if (!deleted_key_.has_value()) return Unimplemented("Remove needs a table with a deleted_key");
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckRows(keys));
    absl::MutexLock lock(&mu_);
    for (int64_t i = 0; i < count; ++i) {
      std::optional<int64_t> bucket = FindLocked(keys.data<K>() + i * key_size_);
      if (!bucket) continue;
      CopyElements(deleted_key_, 0, keys_, *bucket * key_size_, key_size_);
      --num_entries_;
    }
    return OkStatus();
  }

  Status Import(const Tensor& keys, const Tensor& values) override {
    if (keys.dtype() != key_dtype() || values.dtype() != value_dtype()) {
      return InvalidArgument("Expected keys of ", Name(key_dtype()), " and values of ", Name(value_dtype()), ", got ",
                             Name(keys.dtype()), " and ", Name(values.dtype()));
    }
    int64_t rows = keys.rank() > 0 ? keys.dim(0) : 0;
    std::optional<int64_t> num_keys = CheckedMultiply(rows, key_size_);
    std::optional<int64_t> num_values = CheckedMultiply(rows, value_size_);
    if (keys.rank() < 1 || values.rank() < 1 || values.dim(0) != rows || keys.num_elements() != num_keys ||
        values.num_elements() != num_values) {
      return InvalidArgument("Cannot import keys of shape ", keys.shape().ToString(), " and values of shape ",
                             values.shape().ToString(), " into a table with keys of shape ", key_shape().ToString(),
                             " and values of shape ", value_shape().ToString());
    }
    int64_t num_buckets = 4;
    while (num_buckets < rows) num_buckets *= 2;
    absl::MutexLock lock(&mu_);
    WEIR_RETURN_IF_ERROR(ResetLocked(num_buckets));
    return InsertAllLocked(keys, values, rows);
  }

  // All buckets, also those that are empty.
  StatusOr<std::pair<Tensor, Tensor>> Export() const override {
    absl::ReaderMutexLock lock(&mu_);
    WEIR_ASSIGN_OR_RETURN(Tensor keys, keys_.Clone());
    WEIR_ASSIGN_OR_RETURN(Tensor values, values_.Clone());
    return std::make_pair(std::move(keys), std::move(values));
  }

 private:
  bool Equal(const K* a, const Tensor& b) const { return b.has_value() && std::equal(a, a + key_size_, b.data<K>()); }

  uint64_t Hash(const K* key) const {
    if (key_size_ == 1) return HashElement(*key);
    uint64_t hash = 0;
    for (int64_t i = 0; i < key_size_; ++i) hash = CombineHashes(hash, HashElement(key[i]));
    return hash;
  }

  // The number of keys; an error if one is reserved.
  StatusOr<int64_t> CheckRows(const Tensor& keys) const {
    WEIR_ASSIGN_OR_RETURN(int64_t count, CheckKeys(keys));
    for (int64_t i = 0; i < count; ++i) {
      const K* key = keys.data<K>() + i * key_size_;
      if (Equal(key, empty_key_)) return InvalidArgument("Using the empty_key as a table key is not allowed");
      if (Equal(key, deleted_key_)) return InvalidArgument("Using the deleted_key as a table key is not allowed");
    }
    return count;
  }

  const K* BucketKey(int64_t bucket) const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return keys_.data<K>() + bucket * key_size_;
  }

  std::optional<int64_t> FindLocked(const K* key) const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    int64_t mask = num_buckets_ - 1;
    int64_t bucket = static_cast<int64_t>(Hash(key) & static_cast<uint64_t>(mask));
    for (int64_t probe = 1; probe <= num_buckets_; ++probe) {
      const K* other = BucketKey(bucket);
      if (std::equal(key, key + key_size_, other)) return bucket;
      if (Equal(other, empty_key_)) return std::nullopt;
      bucket = (bucket + probe) & mask;
    }
    return std::nullopt;
  }

  // False if there is neither this key nor an empty bucket on its way.
  bool InsertLocked(const K* key, const Tensor& values, int64_t row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    int64_t mask = num_buckets_ - 1;
    int64_t bucket = static_cast<int64_t>(Hash(key) & static_cast<uint64_t>(mask));
    for (int64_t probe = 1; probe <= num_buckets_; ++probe) {
      const K* other = BucketKey(bucket);
      bool is_empty = Equal(other, empty_key_);
      if (is_empty || std::equal(key, key + key_size_, other)) {
        if (is_empty) {
          CopyElements(key_dtype(), key, keys_.data<K>() + bucket * key_size_, key_size_);
          ++num_entries_;
        }
        CopyElements(values, row * value_size_, values_, bucket * value_size_, value_size_);
        return true;
      }
      bucket = (bucket + probe) & mask;
    }
    return false;
  }

  Status MakeRoomLocked(int64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    double needed = static_cast<double>(num_entries_) + static_cast<double>(more);
    int64_t num_buckets = num_buckets_;
    while (needed > static_cast<double>(num_buckets) * max_load_factor_) num_buckets *= 2;
    return num_buckets == num_buckets_ ? OkStatus() : RebuildLocked(num_buckets);
  }

  Status RebuildLocked(int64_t num_buckets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Tensor keys = keys_;
    Tensor values = values_;
    int64_t rows = num_buckets_;
    WEIR_RETURN_IF_ERROR(ResetLocked(num_buckets));
    return InsertAllLocked(keys, values, rows);
  }

  Status InsertAllLocked(const Tensor& keys, const Tensor& values, int64_t rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (int64_t i = 0; i < rows; ++i) {
      const K* key = keys.data<K>() + i * key_size_;
      if (!Equal(key, empty_key_) && !Equal(key, deleted_key_)) InsertLocked(key, values, i);
    }
    return OkStatus();
  }

  // All buckets empty.
  Status ResetLocked(int64_t num_buckets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    WEIR_ASSIGN_OR_RETURN(Shape key_shape, Shape::Make(std::vector<int64_t>{num_buckets, key_size_}));
    WEIR_ASSIGN_OR_RETURN(Shape value_shape, Shape::Make(std::vector<int64_t>{num_buckets, value_size_}));
    WEIR_ASSIGN_OR_RETURN(Tensor keys, Tensor::Allocate(key_dtype(), key_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor values, Tensor::Zeros(value_dtype(), value_shape));
    for (int64_t i = 0; i < num_buckets; ++i) CopyElements(empty_key_, 0, keys, i * key_size_, key_size_);
    keys_ = std::move(keys);
    values_ = std::move(values);
    num_buckets_ = num_buckets;
    num_entries_ = 0;
    return OkStatus();
  }

  const Tensor empty_key_;
  const Tensor deleted_key_;
  const int64_t key_size_;
  const int64_t value_size_;
  const double max_load_factor_;
  mutable absl::Mutex mu_;
  int64_t num_buckets_ ABSL_GUARDED_BY(mu_) = 0;  // a power of two
  int64_t num_entries_ ABSL_GUARDED_BY(mu_) = 0;
  Tensor keys_ ABSL_GUARDED_BY(mu_);    // [buckets, key size]
  Tensor values_ ABSL_GUARDED_BY(mu_);  // [buckets, value size]
};

Status CheckOptions(const DenseTableOptions& options) {
  const Tensor& deleted = options.deleted_key;
  if (options.max_load_factor <= 0 || options.max_load_factor >= 1) {
    return InvalidArgument("max_load_factor must be between 0 and 1, got: ", options.max_load_factor);
  }
  if (options.empty_key.rank() > 1) {
    return InvalidArgument("Empty key must be a scalar or a vector, got shape ", options.empty_key.shape().ToString());
  }
  if (deleted.has_value()) {
    if (deleted.dtype() != options.empty_key.dtype() || deleted.shape() != options.empty_key.shape()) {
      return InvalidArgument("Empty and deleted keys must have same shape, got shapes: ",
                             options.empty_key.shape().ToString(), " and ", deleted.shape().ToString());
    }
  }
  int64_t buckets = options.initial_num_buckets;
  if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
    return InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ", buckets);
  }
  if (options.empty_key.num_elements() == 0) return InvalidArgument("Empty key must not be an empty tensor");
  return OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<LookupTable>> MakeDenseTable(const DenseTableOptions& options) {
  WEIR_RETURN_IF_ERROR(CheckOptions(options));
  std::shared_ptr<LookupTable> table;
  Status status;
  bool known = DispatchDType(options.empty_key.dtype(), TypeList<std::string, int32_t, int64_t>{}, [&](auto tag) {
    using K = typename decltype(tag)::type;
    const Tensor& deleted = options.deleted_key;
    if (deleted.has_value() && std::ranges::equal(deleted.span<K>(), options.empty_key.span<K>())) {
      status = InvalidArgument("Empty and deleted keys cannot be equal");
      return;
    }
    auto made = std::make_shared<DenseTable<K>>(options);
    status = made->Init(options.initial_num_buckets);
    table = std::move(made);
  });
  if (!known) return InvalidArgument("Keys of type ", Name(options.empty_key.dtype()), " are not supported");
  if (!status.ok()) return status;
  return table;
}

}  // namespace weir
