#include "weir/serving/served_version.h"

#include <algorithm>
#include <optional>

#include "absl/time/clock.h"
#include "weir/io/file.h"
#include "weir/io/file_system.h"
#include "weir/serving/config.h"
#include "weir/serving/row_independence.h"

namespace weir {
namespace {

void SortOnce(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

std::shared_ptr<ServingMetrics::Histogram> StageOf(const VersionOptions& options, std::string_view stage) {
  return options.metrics->PassingHistogram(
      ":weir:serving:stage_latency",
      {{"model_name", options.model}, {"version", Cat(options.version)}, {"stage", stage}});
}

}  // namespace

ServedVersion::Stages::Stages(const VersionOptions& options)
    : read(StageOf(options, "read")),
      wait(StageOf(options, "wait")),
      run(StageOf(options, "run")),
      write(StageOf(options, "write")) {}

ServedVersion::ServedVersion(VersionOptions options)
    : options_(std::move(options)),
      stages_(options_),
      runs_(options_.metrics->CounterOf(":tensorflow:core:graph_runs", {})),
      run_micros_(options_.metrics->CounterOf(":tensorflow:core:graph_run_time_usecs", {})),
      examples_(
          options_.metrics->CounterOf(":tensorflow:serving:request_example_count_total", {{"model", options_.model}})),
      example_counts_(
          options_.metrics->HistogramOf(":tensorflow:serving:request_example_counts", {{"model", options_.model}})) {}

void ServedVersion::CountExamples(int64_t count) const {
  examples_.Add(count);
  example_counts_.Observe(static_cast<double>(count));
}

StatusOr<std::unique_ptr<ServedVersion>> ServedVersion::Load(VersionOptions options) {
  std::unique_ptr<ServedVersion> version(new ServedVersion(std::move(options)));
  VersionOptions& own = version->options_;
  if (own.read_batching_parameters) {
    const std::string path = own.folder + "/batching_params.pbtxt";
    if (StatFile(path).ok()) {
      WEIR_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
      WEIR_ASSIGN_OR_RETURN(BatchingFile file, ParseBatchingParameters(text));
      own.batching = file.rules;
    }
  }
  StepOptions quiet;
  quiet.in_caller_thread = true;
  own.session.state = std::make_shared<ResourceManager>();  // versions have variables of the same names
  std::optional<Graph> seen;
  auto prepare = [&](Graph& graph) {
    if (own.shared_tensors != nullptr) version->shared_bytes_ += own.shared_tensors->ShareConstants(graph);
    seen = graph.Clone();
  };
  WEIR_ASSIGN_OR_RETURN(version->model_,
                        LoadedModel::Load(own.folder, own.tags, own.environment, own.session, quiet, prepare));
  if (own.shared_tensors != nullptr) {
    version->shared_bytes_ += own.shared_tensors->ShareVariables(*seen, *own.session.state);
  }
  if (own.batching.merge && own.batching.adaptive) version->FindIndependentRows(*seen);
  seen.reset();  // what it holds of the constants, steps may want to keep in another form
  WEIR_RETURN_IF_ERROR(version->Prepare());
  version->MakePlans();
  if (own.shared_tensors != nullptr) own.shared_tensors->Sweep();
  return version;
}

void ServedVersion::FindIndependentRows(const Graph& graph) {
  for (const auto& [name, signature] : signatures()) {
    StepSignature step;
    for (const auto& [key, input] : signature.inputs) step.feeds.push_back(input.tensor);
    for (const auto& [key, output] : signature.outputs) step.fetches.push_back(output.tensor);
    StatusOr<std::vector<bool>> independent = FindRowIndependence(graph, step);
    if (!independent.ok()) continue;
    std::set<std::string>& fetches = independent_[std::set<std::string>(step.feeds.begin(), step.feeds.end())];
    for (size_t i = 0; i < step.fetches.size(); ++i) {
      if ((*independent)[i]) fetches.insert(step.fetches[i]);
    }
  }
}

Status ServedVersion::Prepare() {
  for (const auto& [name, signature] : signatures()) {
    Session::CallableSpec spec;
    for (const auto& [key, input] : signature.inputs) spec.feeds.push_back(input.tensor);
    for (const auto& [key, output] : signature.outputs) spec.fetches.push_back(output.tensor);
    SortOnce(spec.feeds);
    SortOnce(spec.fetches);
    if (spec.fetches.empty() || spec.feeds.front().empty() || spec.fetches.front().empty()) continue;
    // A signature that cannot be compiled is an error of the requests that use it: others may be fine.
    StatusOr<Session::Callable> callable = model_->session().MakeCallable(spec);
    if (callable.ok()) {
      WEIR_RETURN_IF_ERROR(model_->session().ReleaseCallable(*callable));
    }
  }
  return OkStatus();
}

void ServedVersion::MakePlans() {
  for (const auto& [name, signature] : signatures()) {
    Plan plan;
    std::vector<std::string> feeds, fetches;
    bool is_dense = true;
    for (const auto& [key, input] : signature.inputs) {
      is_dense = is_dense && !input.tensor.empty();
      feeds.push_back(input.tensor);
    }
    for (const auto& [key, output] : signature.outputs) {
      is_dense = is_dense && !output.tensor.empty();
      auto found = std::find(fetches.begin(), fetches.end(), output.tensor);
      plan.outputs.emplace_back(key, static_cast<size_t>(found - fetches.begin()));
      if (found == fetches.end()) fetches.push_back(output.tensor);
    }
    if (!is_dense) continue;
    plan.step = &StepFor(std::move(feeds), std::move(fetches));
    plans_[name] = std::move(plan);
  }
}

const ServedVersion::Plan* ServedVersion::PlanOf(const std::string& signature) const {
  auto found = plans_.find(signature);
  return found != plans_.end() ? &found->second : nullptr;
}

const ServedVersion::Step& ServedVersion::StepFor(std::vector<std::string> feeds, std::vector<std::string> fetches) {
  std::string key;
  for (const auto* names : {&feeds, &fetches}) {
    for (const std::string& name : *names) key += name + '\n';
    key += '\n';
  }
  absl::MutexLock lock(&mu_);
  std::unique_ptr<Step>& step = steps_[key];
  if (step != nullptr) return *step;
  StepScheduler::QueueOptions queue;
  queue.model = options_.model;
  queue.version = Cat(options_.version);
  queue.share = options_.share;
  queue.batching = options_.batching;
  auto independent = independent_.find(std::set<std::string>(feeds.begin(), feeds.end()));
  queue.rows_are_independent = independent != independent_.end() &&
                               std::all_of(fetches.begin(), fetches.end(),
                                           [&](const std::string& name) { return independent->second.contains(name); });
  step = std::make_unique<Step>();
  step->feeds = std::move(feeds);
  step->fetches = std::move(fetches);
  queue.wait = stages_.wait.get();
  queue.run = [this, own = step.get()](const StepOptions& options, std::span<const Tensor> inputs,
                                       std::vector<Tensor>* outputs, StepReport* report) {
    std::vector<Feed> named;
    named.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) named.emplace_back(own->feeds[i], inputs[i]);
    const absl::Time start = absl::Now();
    Status status = model_->session().Run(options, named, own->fetches, {}, outputs, report);
    const double micros = absl::ToDoubleMicroseconds(absl::Now() - start);
    runs_.Add();
    run_micros_.Add(static_cast<int64_t>(micros));
    stages_.run->Observe(micros);
    return status;
  };
  step->queue = options_.scheduler->MakeQueue(std::move(queue));
  return *step;
}

void ServedVersion::Submit(const Step& step, std::string_view api, StepScheduler::Job job) {
  const absl::Time start = absl::Now();
  job.done = [this, start, api = std::string(api), done = std::move(job.done)](Status status,
                                                                               std::vector<Tensor> outputs) {
    options_.metrics->Observe(":tensorflow:serving:runtime_latency",
                              {{"model_name", options_.model}, {"API", api}, {"runtime", "weir"}},
                              absl::ToDoubleMicroseconds(absl::Now() - start));
    done(std::move(status), std::move(outputs));
  };
  options_.scheduler->Submit(step.queue, std::move(job));
}

}  // namespace weir
