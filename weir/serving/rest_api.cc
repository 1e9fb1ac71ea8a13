#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "weir/serving/api_internal.h"
#include "weir/serving/json_tensors.h"
#include "weir/serving/model_spec_internal.h"
#include "weir/serving/rest_api_internal.h"

namespace weir {

// What a path names: /v1/models/NAME[/versions/N|/labels/L][:VERB|/metadata].
struct RestApi::Target {
  VersionChoice choice;
  std::string verb;  // predict, classify, regress, metadata or empty
};

namespace {

int HttpStatus(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

// Takes `prefix` off the front, without regard to case.
bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (!absl::StartsWithIgnoreCase(ToAbsl(*text), ToAbsl(prefix))) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Up to the next '/' or ':'.
std::string TakeName(std::string_view* text) {
  const size_t end = std::min(text->find_first_of("/:"), text->size());
  std::string out(text->substr(0, end));
  text->remove_prefix(end);
  return out;
}

std::optional<int64_t> TakeNumber(std::string_view* text) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

template <typename Message>
StatusOr<std::string> ToJson(const Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  const auto status = google::protobuf::util::MessageToJsonString(message, &out, options);
  if (!status.ok()) return Internal("the answer cannot be written as JSON");
  return out;
}

std::string Indented(const std::string& json, std::string_view indent) {
  std::string out;
  for (char c : json) {
    out += c;
    if (c == '\n') out.append(indent);
  }
  return out;
}

// The body of a POST: texts of its members.
struct Body {
  std::string signature;
  std::optional<std::string_view> instances, inputs, examples, context;
};

StatusOr<Body> ReadBody(const std::string& text) {
  JsonReader reader(text);
  Body body;
  if (reader.Peek() == JsonReader::Kind::kEnd) return InvalidArgument("JSON Parse error: The document is empty");
  if (reader.Peek() != JsonReader::Kind::kObject) return InvalidArgument("JSON Value: the request is not an object");
  WEIR_RETURN_IF_ERROR(reader.ReadObject([&](const std::string& key) -> Status {
    if (key == "signature_name") {
      if (reader.Peek() != JsonReader::Kind::kString) {
        return InvalidArgument("'signature_name' key must be a string value.");
      }
      WEIR_ASSIGN_OR_RETURN(body.signature, reader.ReadString());
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(std::string_view value, reader.SkipValue());
    if (key == "instances") body.instances = value;
    if (key == "inputs") body.inputs = value;
    if (key == "examples") body.examples = value;
    if (key == "context") body.context = value;
    return OkStatus();
  }));
  WEIR_RETURN_IF_ERROR(reader.ExpectEnd());
  return body;
}

Status AddFeatureValue(JsonReader* reader, const std::string& name, Feature* feature) {
  auto kind_is = [&](Feature::KindCase kind) {
    return feature->kind_case() == Feature::KIND_NOT_SET || feature->kind_case() == kind;
  };
  const Status mixed = InvalidArgument("Unexpected element type in feature: ", name,
                                       "; its values must all be integers, decimals or strings");
  switch (reader->Peek()) {
    case JsonReader::Kind::kNumber: {
      WEIR_ASSIGN_OR_RETURN(std::string_view number, reader->ReadNumber());
      if (IsJsonInteger(number)) {
        int64_t value = 0;
        auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc()) return InvalidArgument("feature ", name, ": ", number, " does not fit int64");
        if (!kind_is(Feature::kInt64List)) return mixed;
        feature->mutable_int64_list()->add_value(value);
        return OkStatus();
      }
      WEIR_ASSIGN_OR_RETURN(float value, JsonToFloat(number));
      if (!kind_is(Feature::kFloatList)) return mixed;
      feature->mutable_float_list()->add_value(value);
      return OkStatus();
    }
    case JsonReader::Kind::kBool: {
      WEIR_ASSIGN_OR_RETURN(bool value, reader->ReadBool());
      if (!kind_is(Feature::kInt64List)) return mixed;
      feature->mutable_int64_list()->add_value(value ? 1 : 0);
      return OkStatus();
    }
    case JsonReader::Kind::kString:
    case JsonReader::Kind::kObject: {
      WEIR_ASSIGN_OR_RETURN(std::string value, ReadJsonBytes(reader));
      if (!kind_is(Feature::kBytesList)) return mixed;
      feature->mutable_bytes_list()->add_value(std::move(value));
      return OkStatus();
    }
    default:
      return mixed;
  }
}

Status ReadExample(JsonReader* reader, Example* example) {
  if (reader->Peek() != JsonReader::Kind::kObject) return InvalidArgument("Example must be JSON object");
  return reader->ReadObject([&](const std::string& name) -> Status {
    Feature& feature = (*example->mutable_features()->mutable_feature())[name];
    if (reader->Peek() != JsonReader::Kind::kArray) return AddFeatureValue(reader, name, &feature);
    return reader->ReadArray([&] { return AddFeatureValue(reader, name, &feature); });
  });
}

StatusOr<serving::Input> ReadExamples(const Body& body) {
  if (!body.examples.has_value()) {
    return InvalidArgument("When method is classify or regress, key 'examples' is expected and was not found");
  }
  serving::Input input;
  auto read = [&](auto* list) -> Status {
    JsonReader reader(*body.examples);
    if (reader.Peek() != JsonReader::Kind::kArray)
      return InvalidArgument("Excepting 'examples' value to be an list/array");
    return reader.ReadArray([&] { return ReadExample(&reader, list->add_examples()); });
  };
  if (!body.context.has_value()) {
    WEIR_RETURN_IF_ERROR(read(input.mutable_example_list()));
    return input;
  }
  JsonReader context(*body.context);
  WEIR_RETURN_IF_ERROR(ReadExample(&context, input.mutable_example_list_with_context()->mutable_context()));
  WEIR_RETURN_IF_ERROR(read(input.mutable_example_list_with_context()));
  return input;
}

// Waits for what `start` begins, which calls back with a status and a value.
template <typename Value, typename Start>
StatusOr<Value> AwaitValue(Start start) {
  absl::Notification ended;
  StatusOr<Value> out = Internal("no answer");
  start([&](Status status, Value value) {
    if (status.ok()) {
      out = std::move(value);
    } else {
      out = std::move(status);
    }
    ended.Notify();
  });
  ended.WaitForNotification();
  return out;
}

std::string ErrorBody(const Status& status) {
  std::string out = "{ \"error\": ";
  AppendJsonString(Message(status), &out);
  return out + " }";
}

}  // namespace

RestApi::RestApi(ModelManager* models, CallObserver* observer, ServingMetrics* metrics, RestOptions options)
    : models_(models), observer_(observer), metrics_(metrics), options_(std::move(options)) {}

HttpResponse RestApi::Options(const HttpRequest& request) {
  HttpResponse response;
  if (request.Header("origin").empty()) {
    response.status = 400;
    response.body = ErrorBody(InvalidArgument("an OPTIONS request needs an Origin header"));
    return response;
  }
  response.headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                      {"Access-Control-Allow-Headers", "Content-Type"}};
  return response;
}

HttpResponse RestApi::Serve(const HttpRequest& request) {
  const absl::Time start = absl::Now();
  HttpResponse response;
  if (options_.monitoring.enabled && request.path == options_.monitoring.path) {
    response.type = "text/plain; version=0.0.4";
    if (request.method == "GET") {
      response.body = metrics_->Text();
    } else {
      response.status = 405;
    }
    return response;
  }
  std::string_view rest = request.path;
  if (!TakePrefix("/v1/", &rest)) {
    response.status = 404;
    response.type = "text/plain";
    response.body = "Not Found\n";
    return response;
  }
  Target target;
  bool well_formed = TakePrefix("models", &rest);
  if (well_formed && TakePrefix("/", &rest)) target.choice.model = TakeName(&rest);
  if (TakePrefix("/versions/", &rest)) {
    target.choice.version = TakeNumber(&rest);
    well_formed = well_formed && target.choice.version.has_value();
  } else if (TakePrefix("/labels/", &rest)) {
    target.choice.label = TakeName(&rest);
  }
  const bool is_get = request.method == "GET";
  if (is_get && TakePrefix("/metadata", &rest)) {
    target.verb = "metadata";
  } else if (!is_get) {
    for (const char* verb : {":predict", ":classify", ":regress"}) {
      if (TakePrefix(verb, &rest)) target.verb = verb + 1;
    }
  }
  if (request.method == "OPTIONS" && options_.cors) {
    response = Options(request);
  } else {
    StatusOr<std::string> body;
    well_formed = well_formed && rest.empty() && (is_get || (request.method == "POST" && !target.verb.empty()));
    if (!well_formed) {
      body = InvalidArgument("Malformed request: ", request.method, " ", request.path);
    } else {
      body = is_get ? Get(target) : Post(target, request);
    }
    response.status = HttpStatus(body.status());
    response.body = body.ok() ? *std::move(body) : ErrorBody(body.status());
    if (!is_get && well_formed) {
      const char* api = target.verb == "predict" ? "Predict" : target.verb == "classify" ? "Classify" : "Regress";
      observer_->Ended(api, "REST", target.choice.model, body.status(), start);
    }
  }
  if (options_.cors) response.headers.emplace_back("Access-Control-Allow-Origin", "*");
  return response;
}

StatusOr<std::string> RestApi::Get(const Target& target) {
  if (target.choice.model.empty()) return InvalidArgument("Missing model name in request.");
  serving::ModelSpec spec;
  spec.set_name(target.choice.model);
  if (target.choice.version.has_value()) spec.mutable_version()->set_value(*target.choice.version);
  if (target.choice.label.has_value()) spec.set_version_label(*target.choice.label);
  if (target.verb.empty()) {
    WEIR_ASSIGN_OR_RETURN(serving::GetModelStatusResponse response, GetModelStatus(*models_, spec));
    return ToJson(response);
  }
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ServedVersion> version, models_->Find(target.choice));
  serving::SignatureDefMap map;
  FillSignatures(*version, &map);
  WEIR_ASSIGN_OR_RETURN(std::string signatures, ToJson(map));
  std::string name;
  AppendJsonString(version->model(), &name);
  return Cat("{\n\"model_spec\": {\n \"name\": ", name, ",\n \"signature_name\": \"\",\n \"version\": \"",
             version->version(), "\"\n},\n\"metadata\": {\"signature_def\": ", Indented(signatures, " "), "}\n}\n");
}

StatusOr<std::string> RestApi::Post(const Target& target, const HttpRequest& request) {
  return target.verb == "predict" ? PostPredict(target, request) : PostExamples(target, request);
}

StatusOr<std::string> RestApi::PostPredict(const Target& target, const HttpRequest& request) {
  const absl::Time start = absl::Now();
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ServedVersion> version, models_->Find(target.choice));
  WEIR_ASSIGN_OR_RETURN(Body body, ReadBody(request.body));
  WEIR_ASSIGN_OR_RETURN(const Signature* signature,
                        FindSignature(*version, body.signature, absl::StatusCode::kInvalidArgument));
  const bool rows = body.instances.has_value();
  if (rows && body.inputs.has_value()) {
    return InvalidArgument("Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist");
  }
  if (!rows && !body.inputs.has_value()) return InvalidArgument("Missing 'inputs' or 'instances' key");
  PredictQuery query;
  query.signature = body.signature;
  if (rows) {
    WEIR_ASSIGN_OR_RETURN(query.inputs, ReadInstances(*body.instances, *signature));
  } else {
    WEIR_ASSIGN_OR_RETURN(query.inputs, ReadInputs(*body.inputs, *signature));
  }
  version->stages().read->Observe(absl::ToDoubleMicroseconds(absl::Now() - start));
  std::shared_ptr<PredictQuery> logged;
  if (observer_->Samples(*version)) logged = std::make_shared<PredictQuery>(query);
  std::shared_ptr<StepReport> trace = observer_->StartTrace(request.Header("weir-trace"));
  RequestContext context{.priority = ParsePriority(request.Header("weir-priority")),
                         .deadline = absl::Now() + options_.timeout,
                         .report = trace.get()};
  WEIR_ASSIGN_OR_RETURN(NamedTensors outputs, AwaitValue<NamedTensors>([&](auto done) {
                          Predict(version, std::move(query), context, std::move(done));
                        }));
  if (logged != nullptr) observer_->LogPredict(*version, *logged, outputs);
  if (trace != nullptr) observer_->EndTrace(*version, *trace);
  std::string out;
  const absl::Time end = absl::Now();
  WEIR_RETURN_IF_ERROR(rows ? WritePredictions(outputs, &out) : WriteOutputs(outputs, &out));
  version->stages().write->Observe(absl::ToDoubleMicroseconds(absl::Now() - end));
  return out;
}

StatusOr<std::string> RestApi::PostExamples(const Target& target, const HttpRequest& request) {
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ServedVersion> version, models_->Find(target.choice));
  WEIR_ASSIGN_OR_RETURN(Body body, ReadBody(request.body));
  WEIR_ASSIGN_OR_RETURN(serving::Input input, ReadExamples(body));
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> examples, ExamplesOf(input));
  const bool classifies = target.verb == "classify";
  RequestContext context{.priority = ParsePriority(request.Header("weir-priority")),
                         .deadline = absl::Now() + options_.timeout};
  std::vector<ExampleTask> tasks = {{body.signature, classifies ? kClassifyMethod : kRegressMethod}};
  WEIR_ASSIGN_OR_RETURN(std::vector<ExampleResult> results, AwaitValue<std::vector<ExampleResult>>([&](auto done) {
                          RunExamples(version, tasks, std::move(examples), context, std::move(done));
                        }));
  std::string out = "{\n    \"results\": [";
  std::string_view comma = "";
  for (const auto& row : results[0].classes.rows) {
    out += Cat(comma, "[");
    comma = ", ";
    std::string_view inner = "";
    for (const auto& [label, score] : row) {
      out += Cat(inner, "[");
      inner = ", ";
      AppendJsonString(label, &out);
      out += ", ";
      AppendJsonFloat(score, &out);
      out += "]";
    }
    out += "]";
  }
  for (float value : results[0].regressions) {
    out.append(comma);
    comma = ", ";
    AppendJsonFloat(value, &out);
  }
  return out + "]\n}";
}

}  // namespace weir
