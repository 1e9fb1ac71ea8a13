#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "weir/ops/table/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

Tensor Strings(std::initializer_list<std::string> values) { return Tensor::Vector<std::string>(values); }
Tensor Ints(std::initializer_list<int64_t> values) { return Tensor::Vector<int64_t>(values); }
Tensor Int(int64_t value) { return Tensor::Scalar<int64_t>(value); }

class TableTest : public testing::Test {
 protected:
  KernelCall Table(std::string_view op, std::string_view name, DType key = DType::kString,
                   DType value = DType::kInt64) {
    KernelCall call = run(op);
    call.Name(name).Attr("shared_name", name).Attr("key_dtype", key).Attr("value_dtype", value);
    return call;
  }
  Tensor Handle(KernelCall call) {
    auto out = call.Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? (*out)[0] : Tensor();
  }
  StatusOr<Tensor> Find(const Tensor& table, Tensor keys, Tensor default_value) {
    auto out = run("LookupTableFindV2").Input(table).Input(std::move(keys)).Input(std::move(default_value)).Run();
    if (!out.ok()) return out.status();
    return (*out)[0];
  }
  Status Call(std::string_view op, const Tensor& table, Tensor keys, Tensor values) {
    return run(op).Input(table).Input(std::move(keys)).Input(std::move(values)).Run().status();
  }
  Status Remove(const Tensor& table, Tensor keys) {
    return run("LookupTableRemoveV2").Input(table).Input(std::move(keys)).Run().status();
  }
  int64_t Size(const Tensor& table) {
    auto out = run("LookupTableSizeV2").Input(table).Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? (*out)[0].scalar<int64_t>() : -1;
  }
  StatusOr<std::vector<Tensor>> Export(const Tensor& table, DType key, DType value) {
    return run("LookupTableExportV2").Input(table).Attr("Tkeys", key).Attr("Tvalues", value).Run();
  }
  static void ExpectError(const Status& status, absl::StatusCode code, std::string_view text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), testing::HasSubstr(std::string(text)));
  }

  KernelRunner run{RegisterTableKernels};
};

TEST_F(TableTest, StaticTableIsFilledOnce) {
  Tensor table = Handle(Table("HashTableV2", "t"));
  ExpectError(Find(table, Strings({"a"}), Int(-1)).status(), kPrecondition, "Table not initialized.");
  EXPECT_EQ(Size(table), 0);
  EXPECT_EQ(Export(table, DType::kString, DType::kInt64).status().code(), absl::StatusCode::kAborted);
  ASSERT_EQ(Call("InitializeTableV2", table, Strings({"a", "b"}), Ints({1, 2})), OkStatus());
  ExpectTensorEqual(*Find(table, TensorOf<std::string>({1, 2}, {"a", "q"}), Int(-1)),
                    TensorOf<int64_t>({1, 2}, {1, -1}));
  EXPECT_EQ(Size(table), 2);
  auto entries = Export(table, DType::kString, DType::kInt64);
  ASSERT_TRUE(entries.ok()) << entries.status();
  ExpectTensorEqual((*entries)[0], Strings({"a", "b"}));
  ExpectTensorEqual((*entries)[1], Ints({1, 2}));
  EXPECT_EQ(Call("InitializeTableV2", table, Strings({"a", "b"}), Ints({1, 2})), OkStatus());
  ExpectError(Call("InitializeTableV2", table, Strings({"a"}), Ints({1})), kPrecondition,
              "Table was already initialized with different data.");
}

TEST_F(TableTest, StaticTableCannotChange) {
  Tensor table = Handle(Table("HashTableV2", "t"));
  ExpectError(Call("LookupTableInsertV2", table, Strings({"a"}), Ints({1})), kUnimplemented,
              "Insert not supported by InitializableLookupTable implementations");
  ExpectError(Remove(table, Strings({"a"})), kUnimplemented,
              "Remove not supported by InitializableLookupTable implementations");
  EXPECT_EQ(Call("LookupTableImportV2", table, Strings({"a"}), Ints({1})), OkStatus());
}

TEST_F(TableTest, InitialEntriesAreChecked) {
  auto init = [&](Tensor keys, Tensor values) {
    Tensor table = Handle(Table("HashTableV2", Cat("t", ResourceManager::NextUniqueId())));
    Status status = Call("InitializeTableV2", table, std::move(keys), std::move(values));
    if (!status.ok()) {
      EXPECT_EQ(Size(table), 0);
    }
    return status;
  };
  ExpectError(init(Strings({"a", "a"}), Ints({1, 2})), kPrecondition,
              "HashTable has different value for same key. Key a has 1 and trying to add value 2");
  EXPECT_EQ(init(Strings({"a", "a"}), Ints({1, 1})), OkStatus());
  ExpectError(init(Strings({"a", "b"}), Ints({1})), kInvalid, "Keys and values must have the same size 2 vs 1");
  ExpectError(init(TensorOf<std::string>({1, 2}, {"a", "b"}), TensorOf<int64_t>({1, 2}, {1, 2})), kInvalid,
              "Keys must be a vector, but received shape[1,2]");
  ExpectError(init(Strings({}), Ints({})), kInvalid, "keys and values cannot be empty tensors.");
  ExpectError(init(Ints({1}), Ints({1})), kInvalid,
              "Signature mismatch, have: resource, int64, int64-> expected: resource, string, int64->");
  Tensor mutable_table = Handle(Table("MutableHashTableV2", "m"));
  ExpectError(Call("InitializeTableV2", mutable_table, Strings({"a"}), Ints({1})), kInvalid,
              "Table localhost m is not initializable");
}

TEST_F(TableTest, TypesOfACallMustBeTheTables) {
  Tensor table = Handle(Table("HashTableV2", "t"));
  ExpectError(Find(table, Ints({1}), Int(-1)).status(), kInvalid,
              "Signature mismatch, have: resource, int64, int64->int64 expected: resource, string, int64->int64");
  auto other = Table("HashTableV2", "t", DType::kInt64, DType::kString).Run();
  ExpectError(other.status(), kInvalid, "Conflicting key/value dtypes int64->string with string-int64 for table t");
}

TEST_F(TableTest, MutableTableInsertsRemovesImports) {
  Tensor table = Handle(Table("MutableHashTableV2", "t"));
  ASSERT_EQ(Call("LookupTableInsertV2", table, Strings({"a", "b", "a"}), Ints({1, 2, 3})), OkStatus());
  ExpectTensorEqual(*Find(table, Strings({"a", "b", "c"}), Int(-1)), Ints({3, 2, -1}));
  ASSERT_EQ(Remove(table, Strings({"a", "z"})), OkStatus());
  EXPECT_EQ(Size(table), 1);
  ExpectTensorEqual(*Find(table, Strings({"a", "b", "c"}), Ints({7, 8, 9})), Ints({7, 2, 9}));
  ASSERT_EQ(Call("LookupTableImportV2", table, Strings({"x"}), Ints({4})), OkStatus());
  auto entries = Export(table, DType::kString, DType::kInt64);
  ASSERT_TRUE(entries.ok());
  ExpectTensorEqual((*entries)[0], Strings({"x"}));
  ExpectTensorEqual((*entries)[1], Ints({4}));
  ExpectError(Call("LookupTableInsertV2", table, Strings({"a", "b"}), Ints({1})), kInvalid,
              "Expected shape [2] for value, got [1]");
  ExpectError(Find(table, TensorOf<std::string>({1, 2}, {"a", "c"}), Ints({1, 2, 3})).status(), kInvalid,
              "Expected shape [] or [1,2] for default value, got [3]");
}

TEST_F(TableTest, ManyInsertionsAndRemovalsKeepTheRest) {
  Tensor table = Handle(Table("MutableHashTableV2", "t", DType::kInt64, DType::kString));
  constexpr int64_t kCount = 1000;
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(Call("LookupTableInsertV2", table, Ints({i}), Strings({Cat("value ", i)})), OkStatus());
    if (i % 3 == 0) {
      ASSERT_EQ(Remove(table, Ints({i / 2})), OkStatus());
    }
  }
  std::map<int64_t, std::string> model;
  for (int64_t i = 0; i < kCount; ++i) {
    model[i] = Cat("value ", i);
    if (i % 3 == 0) model.erase(i / 2);
  }
  EXPECT_EQ(Size(table), static_cast<int64_t>(model.size()));
  for (int64_t i = 0; i < kCount; ++i) {
    std::string expected = model.count(i) ? model[i] : "none";
    ASSERT_EQ((*Find(table, Int(i), Tensor::Scalar("none"))).scalar<std::string>(), expected);
  }
}

TEST_F(TableTest, TablesOfTensors) {
  auto make = [&](std::string_view name, PartialShape shape) {
    return Table("MutableHashTableOfTensorsV2", name, DType::kString, DType::kFloat).Attr("value_shape", shape).Run();
  };
  ExpectError(make("bad", PartialShape({2, 2})).status(), kInvalid, "Default value must be a vector, got shape [2,2]");
  ExpectError(make("bad", PartialShape(Shape())).status(), kInvalid, "Default value must be a vector, got shape []");
  ExpectError(make("bad", PartialShape({-1})).status(), kInvalid, "Shape [?] is not fully defined");
  Tensor table = (*make("t", PartialShape({2})))[0];
  ASSERT_EQ(Call("LookupTableInsertV2", table, Strings({"a", "b"}), TensorOf<float>({2, 2}, {1, 2, 3, 4})), OkStatus());
  ExpectTensorEqual(*Find(table, TensorOf<std::string>({2, 1}, {"a", "z"}), Tensor::Vector<float>({-1, -2})),
                    TensorOf<float>({2, 1, 2}, {1, 2, -1, -2}));
  ExpectTensorEqual(*Find(table, Strings({"z", "b"}), TensorOf<float>({2, 2}, {5, 6, 7, 8})),
                    TensorOf<float>({2, 2}, {5, 6, 3, 4}));
  ExpectError(Call("LookupTableInsertV2", table, Strings({"a"}), TensorOf<float>({1, 3}, {1, 2, 3})), kInvalid,
              "Expected shape [1,2] for value, got [1,3]");
  ExpectError(Find(table, Strings({"a", "b"}), Tensor::Vector<float>({1})).status(), kInvalid,
              "Expected shape [2] or [2,2] for default value, got [1]");
}

class DenseTableTest : public TableTest {
 protected:
  KernelCall Dense(std::string_view name, Tensor empty, Tensor deleted) {
    KernelCall call = run("MutableDenseHashTableV2");
    call.Attr("shared_name", name)
        .Attr("value_dtype", DType::kInt64)
        .Attr("initial_num_buckets", 4)
        .Input(std::move(empty))
        .Input(std::move(deleted));
    return call;
  }
};

TEST_F(DenseTableTest, BucketsAreWhereTensorFlowPutsThem) {
  Tensor table = Handle(Dense("t", Int(0), Int(-1)));
  ASSERT_EQ(Call("LookupTableInsertV2", table, Ints({11, 12, 13}), Ints({1, 2, 3})), OkStatus());
  auto entries = Export(table, DType::kInt64, DType::kInt64);
  ASSERT_TRUE(entries.ok());
  ExpectTensorEqual((*entries)[0], TensorOf<int64_t>({4, 1}, {12, 13, 0, 11}));
  ExpectTensorEqual((*entries)[1], TensorOf<int64_t>({4, 1}, {2, 3, 0, 1}));
  ASSERT_EQ(Remove(table, Ints({11, 99})), OkStatus());
  ExpectTensorEqual((*Export(table, DType::kInt64, DType::kInt64))[0], TensorOf<int64_t>({4, 1}, {12, 13, 0, -1}));
  EXPECT_EQ(Size(table), 2);
  Tensor grown = Handle(Dense("u", Int(0), Int(-1)));
  ASSERT_EQ(Call("LookupTableInsertV2", grown, Ints({11, 12, 13, 14, 15}), Ints({1, 2, 3, 4, 5})), OkStatus());
  ExpectTensorEqual((*Export(grown, DType::kInt64, DType::kInt64))[0],
                    TensorOf<int64_t>({8, 1}, {0, 0, 0, 11, 12, 13, 14, 15}));
}

TEST_F(DenseTableTest, KeysMayBeVectors) {
  Tensor table = Handle(
      Dense("t", Ints({0, 0}), Ints({-1, -1})).Attr("value_shape", PartialShape({2})).Attr("initial_num_buckets", 8));
  ASSERT_EQ(Call("LookupTableInsertV2", table, TensorOf<int64_t>({2, 2}, {1, 2, 3, 4}),
                 TensorOf<int64_t>({2, 2}, {10, 20, 30, 40})),
            OkStatus());
  ExpectTensorEqual(*Find(table, TensorOf<int64_t>({2, 2}, {3, 4, 1, 1}), Ints({-1, -2})),
                    TensorOf<int64_t>({2, 2}, {30, 40, -1, -2}));
  ExpectTensorEqual((*Export(table, DType::kInt64, DType::kInt64))[0],
                    TensorOf<int64_t>({8, 2}, {0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4}));
  ExpectError(Find(table, TensorOf<int64_t>({1, 3}, {1, 2, 3}), Ints({-1, -2})).status(), kInvalid,
              "Input key shape [1,3] must end with the table's key shape [2]");
}

TEST_F(DenseTableTest, ReservedKeysAndBadOptions) {
  Tensor table = Handle(Dense("t", Int(0), Int(-1)));
  ExpectError(Call("LookupTableInsertV2", table, Ints({0}), Ints({1})), kInvalid,
              "Using the empty_key as a table key is not allowed");
  ExpectError(Find(table, Ints({-1}), Int(1)).status(), kInvalid,
              "Using the deleted_key as a table key is not allowed");
  ExpectError(Remove(table, Ints({0})), kInvalid, "Using the empty_key as a table key is not allowed");
  ExpectError(Dense("a", Int(0), Int(-1)).Attr("initial_num_buckets", 3).Run().status(), kInvalid,
              "Number of buckets must be at least 4 and a power of 2, got: 3");
  ExpectError(Dense("b", Int(0), Int(-1)).Attr("max_load_factor", 1.0f).Run().status(), kInvalid,
              "max_load_factor must be between 0 and 1, got: 1");
  ExpectError(Dense("c", Int(3), Int(3)).Run().status(), kInvalid, "Empty and deleted keys cannot be equal");
  ExpectError(Dense("d", Ints({1, 2}), Int(3)).Run().status(), kInvalid,
              "Empty and deleted keys must have same shape, got shapes: [2] and []");
}

TEST_F(DenseTableTest, DeletedBucketsNeverBlock) {
  Tensor table = Handle(Dense("t", Int(0), Int(-1)));
  for (int64_t i = 1; i < 200; ++i) {
    ASSERT_EQ(Call("LookupTableInsertV2", table, Ints({i}), Ints({i * i})), OkStatus());
    ASSERT_EQ((*Find(table, Int(i), Int(-1))).scalar<int64_t>(), i * i);
    ASSERT_EQ(Remove(table, Ints({i})), OkStatus());
    ASSERT_EQ((*Find(table, Int(i), Int(-1))).scalar<int64_t>(), -1);
  }
  EXPECT_EQ(Size(table), 0);
}

TEST_F(DenseTableTest, ImportTakesWhatExportGave) {
  Tensor table = Handle(Dense("t", Tensor::Scalar(""), Tensor::Scalar("~")));
  ASSERT_EQ(Call("LookupTableInsertV2", table, Strings({"a", "b", "c", "d"}), Ints({1, 2, 3, 4})), OkStatus());
  ASSERT_EQ(Remove(table, Strings({"b"})), OkStatus());
  auto entries = Export(table, DType::kString, DType::kInt64);
  ASSERT_TRUE(entries.ok());
  Tensor other = Handle(Dense("u", Tensor::Scalar(""), Tensor::Scalar("~")));
  ASSERT_EQ(Call("LookupTableImportV2", other, (*entries)[0], (*entries)[1]), OkStatus());
  EXPECT_EQ(Size(other), 3);
  ExpectTensorEqual(*Find(other, Strings({"a", "b", "c", "d"}), Int(-1)), Ints({1, -1, 3, 4}));
  EXPECT_EQ(Call("LookupTableImportV2", other, Strings({"a", "b"}), Ints({1})).code(), kInvalid);
}

TEST_F(TableTest, OldHandlesAreRefsToContainerAndName) {
  std::vector<Slot> slots;
  ASSERT_EQ(Table("HashTable", "t").RunSlots(slots), OkStatus());
  RefPtr<RefCell> ref = slots[0].ref;
  ASSERT_TRUE(ref);
  {
    absl::ReaderMutexLock lock(&ref->mu);
    ExpectTensorEqual(ref->tensor, Strings({"localhost", "t"}));
  }
  ASSERT_EQ(run("InitializeTable").RefInput(ref).Input(Strings({"a"})).Input(Ints({1})).Run().status(), OkStatus());
  auto found = run("LookupTableFind").RefInput(ref).Input(Strings({"a", "b"})).Input(Int(7)).Run();
  ASSERT_TRUE(found.ok()) << found.status();
  ExpectTensorEqual((*found)[0], Ints({1, 7}));
  ExpectTensorEqual((*run("LookupTableSize").RefInput(ref).Run())[0], Int(1));
  ExpectTensorEqual(*Find(Handle(Table("HashTableV2", "t")), Strings({"a"}), Int(7)), Ints({1}));
}

TEST_F(TableTest, AnonymousTablesAreEachTheirOwn) {
  auto make = [&] {
    return (*run("AnonymousMutableHashTable")
                 .Attr("key_dtype", DType::kString)
                 .Attr("value_dtype", DType::kInt64)
                 .Run())[0];
  };
  Tensor first = make();
  Tensor second = make();
  ASSERT_EQ(Call("LookupTableInsertV2", first, Strings({"a"}), Ints({1})), OkStatus());
  EXPECT_EQ(Size(first), 1);
  EXPECT_EQ(Size(second), 0);
}

TEST_F(TableTest, PrivateTablesGoWithTheirNode) {
  Tensor handle;
  {
    auto node =
        run("MutableHashTableV2").Attr("key_dtype", DType::kString).Attr("value_dtype", DType::kInt64).Prepare();
    ASSERT_TRUE(node.ok()) << node.status();
    handle = (*node->Run({}))[0];
    EXPECT_EQ(Size(handle), 0);
  }
  EXPECT_EQ(run("LookupTableSizeV2").Input(handle).Run().status().code(), absl::StatusCode::kNotFound);
}

class TextFileTest : public TableTest {
 protected:
  std::string File(std::string_view name, std::string_view text) {
    std::string path = Cat(testing::TempDir(), "/weir_table_", name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  struct Format {
    DType key = DType::kString, value = DType::kInt64;
    int key_index = -2, value_index = -1, vocab_size = -1, offset = 0;
    std::string delimiter = " ";
  };
  StatusOr<std::vector<Tensor>> Load(const std::string& path, const Format& format) {
    Tensor table = Handle(Table("HashTableV2", Cat("t", ResourceManager::NextUniqueId()), format.key, format.value));
    auto status = run("InitializeTableFromTextFileV2")
                      .Input(table)
                      .Input(Tensor::Scalar(path))
                      .Attr("key_index", format.key_index)
                      .Attr("value_index", format.value_index)
                      .Attr("vocab_size", format.vocab_size)
                      .Attr("offset", format.offset)
                      .Attr("delimiter", format.delimiter)
                      .Run()
                      .status();
    WEIR_RETURN_IF_ERROR(status);
    return Export(table, format.key, format.value);
  }
  std::string path = File("vocabulary", "brain 1.5\nsalad 2\nsurgery 3\n");
};

TEST_F(TextFileTest, LinesNumbersAndColumns) {
  EXPECT_EQ(Load(File("empty", ""), {}).status().code(), absl::StatusCode::kOutOfRange);
  auto lines = Load(path, {});
  ASSERT_TRUE(lines.ok()) << lines.status();
  ExpectTensorEqual((*lines)[0], Strings({"brain 1.5", "salad 2", "surgery 3"}));
  ExpectTensorEqual((*lines)[1], Ints({0, 1, 2}));
  auto reversed =
      Load(path, {.key = DType::kInt64, .value = DType::kString, .key_index = -1, .value_index = -2, .offset = 5});
  ASSERT_TRUE(reversed.ok()) << reversed.status();
  ExpectTensorEqual((*reversed)[0], Ints({5, 6, 7}));
  auto columns = Load(path, {.value = DType::kFloat, .key_index = 0, .value_index = 1});
  ASSERT_TRUE(columns.ok()) << columns.status();
  ExpectTensorEqual((*columns)[0], Strings({"brain", "salad", "surgery"}));
  ExpectTensorEqual((*columns)[1], Tensor::Vector<float>({1.5, 2, 3}));
  ExpectTensorEqual((*Load(path, {.vocab_size = 2}))[1], Ints({0, 1}));
  ExpectTensorEqual((*Load(File("crlf", "a\r\nb"), {}))[0], Strings({"a", "b"}));
}

TEST_F(TextFileTest, Complaints) {
  ExpectError(Load(path, {.key_index = 0, .value_index = 1}).status(), kInvalid,
              "Field 1.5 in line 0 is not a valid int64.");
  ExpectError(Load(path, {.value = DType::kString, .key_index = 0, .value_index = 5}).status(), kInvalid,
              Cat("Invalid number of columns in ", path, " line 0 (brain 1.5) : expected at least 6 got 2"));
  ExpectError(Load(path, {.vocab_size = 9}).status(), kInvalid,
              Cat("Invalid vocab_size in ", path, ": expected 9 but got 3"));
  ExpectError(Load(File("twice", "a\nb\na\n"), {}).status(), kPrecondition,
              "HashTable has different value for same key. Key a has 0 and trying to add value 2");
  ExpectError(Load(File("gap", "a\n\nb"), {}).status(), kInvalid, "empty line found at position 3.");
  ExpectError(Load("/nonexistent/file", {}).status(), absl::StatusCode::kNotFound,
              "/nonexistent/file; No such file or directory");
  ExpectError(Load(path, {.value = DType::kFloat}).status(), kInvalid,
              "Value index for line number requires table value dtype of int64, got float");
  ExpectError(Load(path, {.key_index = -1, .value_index = -1}).status(), kInvalid,
              "Key index for line number requires table key dtype of int64, got string");
  ExpectError(Load(path, {.delimiter = "ab"}).status(), kInvalid, "delimiter should be only 1 char");
  ExpectError(Load("", {}).status(), kInvalid, "filename cannot be empty.");
}

}  // namespace
}  // namespace weir
