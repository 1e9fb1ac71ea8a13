// DecodeCSV: the columns of lines as RFC 4180 writes them.
#include "weir/base/parse_number.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/io/register.h"

namespace weir {
namespace {

class DecodeCsvKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DecodeCsvKernel>();
    WEIR_ASSIGN_OR_RETURN(std::string delimiter, init.Attr<std::string>("field_delim"));
    WEIR_ASSIGN_OR_RETURN(kernel->quotes_, init.Attr<bool>("use_quote_delim"));
    WEIR_ASSIGN_OR_RETURN(kernel->missing_, init.Attr<std::string>("na_value"));
    WEIR_ASSIGN_OR_RETURN(kernel->columns_, init.Attr<std::vector<int64_t>>("select_cols"));
    if (delimiter.size() != 1) return InvalidArgument("field_delim should be only 1 char");
    kernel->delimiter_ = delimiter[0];
    const std::vector<int64_t>& columns = kernel->columns_;
    if (!columns.empty() && static_cast<int>(columns.size()) != init.num_outputs()) {
      return InvalidArgument("select_cols should match output size");
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0) return InvalidArgument("select_cols should be non-negative indices");
      if (i > 0 && columns[i] <= columns[i - 1]) {
        return InvalidArgument("select_cols should be strictly increasing indices");
      }
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor records = ctx.input(0);
    const int count = ctx.num_outputs();
    std::vector<Tensor*> outputs(count);
    for (int f = 0; f < count; ++f) {
      const Tensor& fallback = ctx.input(f + 1);
      if (fallback.rank() > 1) {
        return InvalidArgument("Each record default should be at most rank 1");
      }
      if (fallback.num_elements() > 1) {
        return InvalidArgument("There should only be 1 default per field but field ", f, " has ",
                               fallback.num_elements());
      }
      WEIR_ASSIGN_OR_RETURN(outputs[f], ctx.AllocateOutput(f, records.shape()));
    }
    std::vector<std::string> fields;
    for (int64_t i = 0; i < records.num_elements(); ++i) {
      fields.clear();
      WEIR_RETURN_IF_ERROR(Fields(records.data<std::string>()[i], fields));
      if (static_cast<int>(fields.size()) != count) {
        return InvalidArgument("Expect ", count, " fields but have ", fields.size(), " in record ", i);
      }
      for (int f = 0; f < count; ++f) WEIR_RETURN_IF_ERROR(Put(fields[f], f, i, ctx.input(f + 1), *outputs[f]));
    }
    return OkStatus();
  }

 private:
  Status Put(std::string& text, int field, int64_t record, const Tensor& fallback, Tensor& out) const {
    const bool missing = text.empty() || text == missing_;
    if (missing && fallback.num_elements() == 0) {
      return InvalidArgument("Field ", field, " is required but missing in record ", record, "!");
    }
    if (out.dtype() == DType::kString) {
      out.data<std::string>()[record] = missing ? fallback.data<std::string>()[0] : std::move(text);
      return OkStatus();
    }
    bool valid = true;
    DispatchDType(out.dtype(), TypeList<float, double, int32_t, int64_t>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (missing) {
        out.data<T>()[record] = fallback.data<T>()[0];
      } else {
        valid = ParseNumber(text, &out.data<T>()[record]);
      }
    });
    if (valid) return OkStatus();
    return InvalidArgument("Field ", field, " in record ", record, " is not a valid ", Name(out.dtype()), ": ", text);
  }

  // Splits a line into its selected fields.
  Status Fields(std::string_view line, std::vector<std::string>& fields) const {
    size_t at = 0, chosen = 0;
    for (int64_t number = 0; at < line.size() || (number > 0 && at == line.size()); ++number) {
      if (!columns_.empty() && chosen == columns_.size()) return OkStatus();
      const bool wanted = columns_.empty() || columns_[chosen] == number;
      std::string field;
      const bool quoted = quotes_ && at < line.size() && line[at] == '"';
      WEIR_RETURN_IF_ERROR(quoted ? Quoted(line, at, field) : Plain(line, at, field));
      if (wanted) {
        fields.push_back(std::move(field));
        ++chosen;
      }
      // Past the delimiter, or past the end.
      if (at == line.size()) return OkStatus();
      ++at;
    }
    return OkStatus();
  }

  Status Plain(std::string_view line, size_t& at, std::string& field) const {
    const size_t end = std::min(line.find(delimiter_, at), line.size());
    field = line.substr(at, end - at);
    at = end;
    if (field.find_first_of(quotes_ ? "\"\r\n" : "\r\n") != field.npos) {
      return InvalidArgument("Unquoted fields cannot have quotes/CRLFs inside");
    }
    return OkStatus();
  }

  Status Quoted(std::string_view line, size_t& at, std::string& field) const {
    for (++at; at < line.size(); ++at) {
      if (line[at] != '"') {
        field += line[at];
        continue;
      }
      if (++at == line.size() || line[at] == delimiter_) return OkStatus();
      if (line[at] != '"') return InvalidArgument("Quote inside a string has to be escaped by another quote");
      field += '"';
    }
    return InvalidArgument("Quoted field has to end with quote followed by delim or end");
  }

  char delimiter_ = ',';
  bool quotes_ = true;
  std::string missing_;
  std::vector<int64_t> columns_;
};

}  // namespace

void RegisterCsvKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DecodeCSV"), MakeKernel<DecodeCsvKernel>);
}

}  // namespace weir
