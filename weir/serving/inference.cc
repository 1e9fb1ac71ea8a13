#include "weir/serving/inference.h"

#include <algorithm>

namespace weir {
namespace {

std::string Join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += Cat(out.empty() ? "" : ",", name);
  return out;
}

// The tensor of that name, or the end.
template <typename Tensors>
auto FindNamed(Tensors& tensors, const std::string& name) {
  return std::find_if(tensors.begin(), tensors.end(), [&](const auto& each) { return each.first == name; });
}

Status CheckInputNames(const Signature& signature, const NamedTensors& inputs) {
  std::vector<std::string> missing, extra;
  for (const auto& [name, input] : signature.inputs) {
    if (FindNamed(inputs, name) == inputs.end() && !signature.defaults.contains(name)) missing.push_back(name);
  }
  for (const auto& [name, tensor] : inputs) {
    if (!signature.inputs.contains(name)) extra.push_back(name);
  }
  if (missing.empty() && extra.empty()) return OkStatus();
  return InvalidArgument("input size does not match signature: ", inputs.size(), "!=", signature.inputs.size(),
                         " len({", Join(extra), "}) != len({", Join(missing), "}). Sent extra: {", Join(extra),
                         "}. Missing but required: {", Join(missing), "}.");
}

// Tensors of the graph that a request fetches, each once, and where each output of the request is among them.
struct Fetches {
  std::vector<std::string> tensors;
  size_t Add(const std::string& tensor) {
    auto found = std::find(tensors.begin(), tensors.end(), tensor);
    if (found != tensors.end()) return static_cast<size_t>(found - tensors.begin());
    tensors.push_back(tensor);
    return tensors.size() - 1;
  }
};

Status CheckTensor(const std::string& name, const SignatureTensor& tensor) {
  if (!tensor.tensor.empty()) return OkStatus();
  return Unimplemented("'", name, "' is a sparse or composite tensor; only dense ones are served");
}

struct Prepared {
  ServedVersion::Plan own;                    // of a request that wants some outputs only
  const ServedVersion::Plan* plan = nullptr;  // null: `own`
  std::vector<Tensor> feeds;
};

// A plan for some outputs of a signature.
StatusOr<ServedVersion::Plan> PlanFor(ServedVersion& version, const Signature& signature,
                                      std::vector<std::string> output_filter) {
  ServedVersion::Plan plan;
  Fetches fetches;
  std::vector<std::string> feeds;
  for (const auto& [name, input] : signature.inputs) {
    WEIR_RETURN_IF_ERROR(CheckTensor(name, input));
    feeds.push_back(input.tensor);
  }
  if (output_filter.empty()) {
    for (const auto& [name, output] : signature.outputs) output_filter.push_back(name);
  }
  std::sort(output_filter.begin(), output_filter.end());
  for (size_t i = 0; i < output_filter.size(); ++i) {
    const std::string& name = output_filter[i];
    auto output = signature.outputs.find(name);
    if (output == signature.outputs.end()) {
      return InvalidArgument("output tensor alias not found in signature: ", name);
    }
    if (i > 0 && output_filter[i - 1] == name) return InvalidArgument("duplicate output tensor alias: ", name);
    WEIR_RETURN_IF_ERROR(CheckTensor(name, output->second));
    plan.outputs.emplace_back(name, fetches.Add(output->second.tensor));
  }
  plan.step = &version.StepFor(std::move(feeds), std::move(fetches.tensors));
  return plan;
}

StatusOr<Prepared> Prepare(ServedVersion& version, PredictQuery& query) {
  WEIR_ASSIGN_OR_RETURN(const Signature* signature,
                        FindSignature(version, query.signature, absl::StatusCode::kFailedPrecondition));
  WEIR_RETURN_IF_ERROR(CheckInputNames(*signature, query.inputs));
  Prepared out;
  for (const auto& [name, input] : signature->inputs) {
    auto given = FindNamed(query.inputs, name);
    Tensor value = given != query.inputs.end() ? std::move(given->second) : signature->defaults.at(name);
    if (value.dtype() != input.dtype) {
      return InvalidArgument("input '", name, "' has type ", Name(value.dtype()), ", but the signature wants ",
                             Name(input.dtype));
    }
    if (!input.shape.IsCompatibleWith(value.shape())) {
      return InvalidArgument("input '", name, "' has shape ", value.shape().ToString(), ", but the signature wants ",
                             input.shape.ToString());
    }
    out.feeds.push_back(std::move(value));
  }
  if (query.output_filter.empty()) {
    out.plan = version.PlanOf(query.signature.empty() ? kDefaultSignature : query.signature);
  }
  if (out.plan == nullptr) {
    WEIR_ASSIGN_OR_RETURN(out.own, PlanFor(version, *signature, std::move(query.output_filter)));
  }
  return out;
}

StepScheduler::Job MakeJob(std::vector<Tensor> feeds, const RequestContext& context) {
  StepScheduler::Job job;
  job.inputs = std::move(feeds);
  job.priority = context.priority;
  job.deadline = context.deadline;
  job.cancellation = context.cancellation;
  job.report = context.report;
  job.at_once = context.at_once;
  return job;
}

int64_t NumRows(const std::vector<Tensor>& feeds) {
  return !feeds.empty() && feeds[0].rank() > 0 ? feeds[0].dim(0) : 1;
}

}  // namespace

StatusOr<const Signature*> FindSignature(const ServedVersion& version, const std::string& name, absl::StatusCode code) {
  const std::string& wanted = name.empty() ? kDefaultSignature : name;
  auto found = version.signatures().find(wanted);
  if (found == version.signatures().end())
    return Status(code, Cat("Serving signature key \"", wanted, "\" not found."));
  return &found->second;
}

void Predict(std::shared_ptr<ServedVersion> version, PredictQuery query, const RequestContext& context,
             std::function<void(Status, NamedTensors)> done) {
  StatusOr<Prepared> prepared = Prepare(*version, query);
  if (!prepared.ok()) return done(prepared.status(), {});
  version->CountExamples(NumRows(prepared->feeds));
  StepScheduler::Job job = MakeJob(std::move(prepared->feeds), context);
  ServedVersion& served = *version;
  const ServedVersion::Step& step = prepared->plan != nullptr ? *prepared->plan->step : *prepared->own.step;
  job.done = [version = std::move(version), plan = prepared->plan, own = std::move(prepared->own.outputs),
              done = std::move(done)](Status status, std::vector<Tensor> values) {
    NamedTensors outputs;
    if (status.ok()) {
      for (const auto& [name, position] : plan != nullptr ? plan->outputs : own) {
        outputs.emplace_back(name, values[position]);
      }
    }
    done(std::move(status), std::move(outputs));
  };
  served.Submit(step, "Predict", std::move(job));
}

namespace {

// Where a task's outputs are among the fetches; -1: the signature has no such output.
struct TaskFetches {
  bool classifies = false;
  int classes = -1, scores = -1, outputs = -1;
};

StatusOr<TaskFetches> PrepareTask(const ServedVersion& version, const ExampleTask& task,
                                  std::vector<std::string>* feeds, Fetches* fetches) {
  WEIR_ASSIGN_OR_RETURN(const Signature* signature,
                        FindSignature(version, task.signature, absl::StatusCode::kInvalidArgument));
  if (signature->inputs.size() != 1 || signature->inputs.begin()->first != "inputs" ||
      signature->inputs.begin()->second.dtype != DType::kString) {
    return InvalidArgument("signature '", task.signature, "' does not take one input 'inputs' of serialized examples");
  }
  const std::string& feed = signature->inputs.begin()->second.tensor;
  if (std::find(feeds->begin(), feeds->end(), feed) == feeds->end()) feeds->push_back(feed);
  auto fetch = [&](const char* name) {
    auto output = signature->outputs.find(name);
    return output != signature->outputs.end() && !output->second.tensor.empty()
               ? static_cast<int>(fetches->Add(output->second.tensor))
               : -1;
  };
  TaskFetches out;
  out.classifies = task.method == kClassifyMethod;
  if (out.classifies) {
    out.classes = fetch("classes");
    out.scores = fetch("scores");
    if (out.classes < 0 && out.scores < 0) {
      return InvalidArgument("signature '", task.signature, "' has neither an output 'classes' nor 'scores'");
    }
    return out;
  }
  if (task.method != kRegressMethod) return Unimplemented("Unsupported signature method_name: ", task.method);
  out.outputs = fetch("outputs");
  if (out.outputs < 0) return InvalidArgument("signature '", task.signature, "' has no output 'outputs'");
  return out;
}

StatusOr<Classified> ReadClasses(const TaskFetches& task, const std::vector<Tensor>& values, int64_t rows) {
  Classified out;
  const Tensor* classes = task.classes >= 0 ? &values[task.classes] : nullptr;
  const Tensor* scores = task.scores >= 0 ? &values[task.scores] : nullptr;
  int64_t columns = 0;
  for (const Tensor* tensor : {classes, scores}) {
    if (tensor == nullptr) continue;
    if (tensor->rank() != 2 || tensor->dim(0) != rows || (columns > 0 && tensor->dim(1) != columns)) {
      return InvalidArgument("Expected classes and scores of shape [", rows, ", k], got ", tensor->shape().ToString());
    }
    columns = tensor->dim(1);
  }
  if (classes != nullptr && classes->dtype() != DType::kString)
    return InvalidArgument("Expected classes to be strings");
  if (scores != nullptr && scores->dtype() != DType::kFloat) return InvalidArgument("Expected scores to be floats");
  out.rows.resize(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows * columns; ++i) {
    out.rows[static_cast<size_t>(i / columns)].emplace_back(classes != nullptr ? classes->data<std::string>()[i] : "",
                                                            scores != nullptr ? scores->data<float>()[i] : 0);
  }
  return out;
}

StatusOr<std::vector<float>> ReadRegressions(const Tensor& values, int64_t rows) {
  const bool fits = (values.rank() == 1 || (values.rank() == 2 && values.dim(1) == 1)) && values.dim(0) == rows;
  if (!fits || values.dtype() != DType::kFloat) {
    return InvalidArgument("Expected regression outputs of type float and shape [", rows, "] or [", rows, ", 1], got ",
                           values.shape().ToString());
  }
  return std::vector<float>(values.span<float>().begin(), values.span<float>().end());
}

}  // namespace

void RunExamples(std::shared_ptr<ServedVersion> version, std::vector<ExampleTask> tasks,
                 std::vector<std::string> examples, const RequestContext& context,
                 std::function<void(Status, std::vector<ExampleResult>)> done) {
  if (examples.empty()) return done(InvalidArgument("Input is empty."), {});
  std::vector<std::string> feeds;
  Fetches fetches;
  std::vector<TaskFetches> wanted;
  for (const ExampleTask& task : tasks) {
    StatusOr<TaskFetches> prepared = PrepareTask(*version, task, &feeds, &fetches);
    if (!prepared.ok()) return done(prepared.status(), {});
    wanted.push_back(*prepared);
  }
  const int64_t rows = static_cast<int64_t>(examples.size());
  version->CountExamples(rows);
  const Tensor input = Tensor::Vector<std::string>(std::span<const std::string>(examples));
  StepScheduler::Job job = MakeJob(std::vector<Tensor>(feeds.size(), input), context);
  ServedVersion& served = *version;
  const char* api = tasks.size() > 1 ? "MultiInference" : wanted[0].classifies ? "Classify" : "Regress";
  job.done = [version = std::move(version), wanted = std::move(wanted), rows, done = std::move(done)](
                 Status status, std::vector<Tensor> values) {
    std::vector<ExampleResult> results;
    for (size_t i = 0; status.ok() && i < wanted.size(); ++i) {
      ExampleResult& result = results.emplace_back();
      if (wanted[i].classifies) {
        StatusOr<Classified> read = ReadClasses(wanted[i], values, rows);
        status = read.status();
        if (read.ok()) result.classes = *std::move(read);
      } else {
        StatusOr<std::vector<float>> read = ReadRegressions(values[wanted[i].outputs], rows);
        status = read.status();
        if (read.ok()) result.regressions = *std::move(read);
      }
    }
    done(std::move(status), std::move(results));
  };
  served.Submit(served.StepFor(std::move(feeds), std::move(fetches.tensors)), api, std::move(job));
}

}  // namespace weir
