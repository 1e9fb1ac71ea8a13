#include <set>

#include "weir/serving/api_internal.h"
#include "weir/serving/model_spec_internal.h"

namespace weir {
namespace {

const std::string& SignatureOrDefault(const std::string& name) {
  static const std::string* const kDefault = new std::string(kDefaultSignature);
  return name.empty() ? *kDefault : name;
}

void FillClasses(const Classified& classes, serving::ClassificationResult* out) {
  for (const auto& row : classes.rows) {
    serving::Classifications* classifications = out->add_classifications();
    for (const auto& [label, score] : row) {
      serving::Class* each = classifications->add_classes();
      each->set_label(label);
      each->set_score(score);
    }
  }
}

void FillRegressions(const std::vector<float>& values, serving::RegressionResult* out) {
  for (float value : values) out->add_regressions()->set_value(value);
}

}  // namespace

StatusOr<std::vector<std::string>> ExamplesOf(const serving::Input& input) {
  std::vector<std::string> out;
  if (input.has_example_list()) {
    for (const Example& example : input.example_list().examples()) out.push_back(example.SerializeAsString());
  } else if (input.has_example_list_with_context()) {
    // Concatenated messages are merged by whoever parses them; of a feature in both the later one counts.
    const std::string context = input.example_list_with_context().context().SerializeAsString();
    for (const Example& example : input.example_list_with_context().examples()) {
      Example merged;
      if (!merged.ParseFromString(context + example.SerializeAsString())) return InvalidArgument("a malformed Example");
      out.push_back(merged.SerializeAsString());
    }
  }
  if (out.empty()) return InvalidArgument("Input is empty.");
  return out;
}

void Classify(std::shared_ptr<ServedVersion> version, const serving::ClassificationRequest& request,
              const RequestContext& context, std::function<void(Status, serving::ClassificationResponse)> done) {
  StatusOr<std::vector<std::string>> examples = ExamplesOf(request.input());
  if (!examples.ok()) return done(examples.status(), {});
  const std::string& signature = SignatureOrDefault(request.model_spec().signature_name());
  serving::ClassificationResponse response;
  FillSpec(version->model(), version->version(), signature, response.mutable_model_spec());
  RunExamples(std::move(version), {{signature, kClassifyMethod}}, *std::move(examples), context,
              [response = std::move(response), done = std::move(done)](Status status,
                                                                       std::vector<ExampleResult> results) mutable {
                if (status.ok()) FillClasses(results[0].classes, response.mutable_result());
                done(std::move(status), std::move(response));
              });
}

void Regress(std::shared_ptr<ServedVersion> version, const serving::RegressionRequest& request,
             const RequestContext& context, std::function<void(Status, serving::RegressionResponse)> done) {
  StatusOr<std::vector<std::string>> examples = ExamplesOf(request.input());
  if (!examples.ok()) return done(examples.status(), {});
  const std::string& signature = SignatureOrDefault(request.model_spec().signature_name());
  serving::RegressionResponse response;
  FillSpec(version->model(), version->version(), signature, response.mutable_model_spec());
  RunExamples(std::move(version), {{signature, kRegressMethod}}, *std::move(examples), context,
              [response = std::move(response), done = std::move(done)](Status status,
                                                                       std::vector<ExampleResult> results) mutable {
                if (status.ok()) FillRegressions(results[0].regressions, response.mutable_result());
                done(std::move(status), std::move(response));
              });
}

Status CheckMultiInference(const serving::MultiInferenceRequest& request) {
  if (request.tasks().empty()) return InvalidArgument("Inference request must have at least one task");
  std::set<std::string> signatures;
  for (const auto& task : request.tasks()) {
    if (task.model_spec().name().empty()) return InvalidArgument("Found ModelSpec with an empty model name.");
    if (task.model_spec().name() != request.tasks(0).model_spec().name()) {
      return InvalidArgument("All ModelSpecs in a MultiInferenceRequest must access the same model name.");
    }
    const std::string& signature = SignatureOrDefault(task.model_spec().signature_name());
    if (!signatures.insert(signature).second) return InvalidArgument("Duplicate evaluation of signature: ", signature);
  }
  return OkStatus();
}

void MultiInference(std::shared_ptr<ServedVersion> version, const serving::MultiInferenceRequest& request,
                    const RequestContext& context, std::function<void(Status, serving::MultiInferenceResponse)> done) {
  StatusOr<std::vector<std::string>> examples = ExamplesOf(request.input());
  if (!examples.ok()) return done(examples.status(), {});
  std::vector<ExampleTask> tasks;
  for (const auto& task : request.tasks()) {
    tasks.push_back({SignatureOrDefault(task.model_spec().signature_name()), task.method_name()});
  }
  const std::string model = version->model();
  const int64_t number = version->version();
  RunExamples(std::move(version), tasks, *std::move(examples), context,
              [tasks, model, number, done = std::move(done)](Status status, std::vector<ExampleResult> results) {
                serving::MultiInferenceResponse response;
                for (size_t i = 0; status.ok() && i < results.size(); ++i) {
                  serving::InferenceResult* out = response.add_results();
                  FillSpec(model, number, tasks[i].signature, out->mutable_model_spec());
                  if (tasks[i].method == kClassifyMethod) {
                    FillClasses(results[i].classes, out->mutable_classification_result());
                  } else {
                    FillRegressions(results[i].regressions, out->mutable_regression_result());
                  }
                }
                done(std::move(status), std::move(response));
              });
}

void FillSignatures(const ServedVersion& version, serving::SignatureDefMap* map) {
  for (const auto& [name, bytes] : version.signature_defs())
    (*map->mutable_signature_def())[name].ParseFromString(bytes);
}

StatusOr<serving::GetModelMetadataResponse> GetModelMetadata(const ModelManager& models,
                                                             const serving::GetModelMetadataRequest& request) {
  if (request.metadata_field().empty()) {
    return InvalidArgument("GetModelMetadataRequest must specify at least one metadata_field");
  }
  for (const std::string& field : request.metadata_field()) {
    if (field != "signature_def") return InvalidArgument("Metadata field ", field, " is not supported");
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ServedVersion> version, models.Find(ToChoice(request.model_spec())));
  serving::GetModelMetadataResponse response;
  FillSpec(version->model(), version->version(), "", response.mutable_model_spec());
  serving::SignatureDefMap map;
  FillSignatures(*version, &map);
  google::protobuf::Any& any = (*response.mutable_metadata())["signature_def"];
  any.set_type_url("type.googleapis.com/tensorflow.serving.SignatureDefMap");
  any.set_value(map.SerializeAsString());
  return response;
}

StatusOr<serving::GetModelStatusResponse> GetModelStatus(const ModelManager& models, const serving::ModelSpec& spec) {
  WEIR_ASSIGN_OR_RETURN(std::vector<VersionStatus> all, models.StatusOf(ToChoice(spec)));
  serving::GetModelStatusResponse response;
  for (const VersionStatus& status : all) {
    serving::ModelVersionStatus* out = response.add_model_version_status();
    out->set_version(status.version);
    out->set_state(static_cast<serving::ModelVersionStatus::State>(status.state));
    if (status.error.ok()) continue;
    out->mutable_status()->set_error_code(static_cast<error::Code>(status.error.code()));
    out->mutable_status()->set_error_message(Message(status.error));
  }
  return response;
}

Status ReloadConfig(ModelManager& models, const serving::ReloadConfigRequest& request) {
  WEIR_ASSIGN_OR_RETURN(std::vector<ModelSettings> settings, FromConfig(request.config()));
  return models.Configure(std::move(settings));
}

}  // namespace weir
