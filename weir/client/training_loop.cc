#include "weir/client/training_loop.h"

#include "absl/time/clock.h"
#include "weir/client/saver.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/event_writer.h"

namespace weir {
namespace {

class Loop {
 public:
  Loop(ClientSession& session, const Training& training, const Output& loss, const TrainingLoopOptions& options)
      : session_(session),
        training_(training),
        loss_(loss),
        options_(options),
        saver_(session.scope(), {.max_to_keep = options.max_to_keep}) {}

  StatusOr<int64_t> Run() {
    WEIR_RETURN_IF_ERROR(Begin());
    Status status = Steps();
    // What was learnt before an error is not lost.
    if (!options_.folder.empty() && step_ != saved_step_) {
      Status saved = Save();
      if (status.ok()) status = saved;
    }
    WEIR_RETURN_IF_ERROR(status);
    for (const auto& hook : options_.hooks) WEIR_RETURN_IF_ERROR(hook->OnEnd(session_, step_));
    if (writer_ != nullptr) WEIR_RETURN_IF_ERROR(writer_->Close());
    return step_;
  }

 private:
  Status Begin() {
    WEIR_RETURN_IF_ERROR(session_.RunTargets({InitializeVariables(session_.scope().WithPrefix(""))}));
    if (!options_.folder.empty()) {
      StatusOr<std::string> latest = LatestCheckpoint(options_.folder);
      if (latest.ok()) {
        WEIR_RETURN_IF_ERROR(saver_.Restore(session_, *latest));
      } else if (latest.status().code() != absl::StatusCode::kNotFound) {
        return latest.status();
      }
      WEIR_ASSIGN_OR_RETURN(writer_, EventWriter::Create(options_.folder));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor step, session_.Evaluate(training_.step.value()));
    step_ = saved_step_ = step.scalar<int64_t>();
    last_save_ = absl::Now();
    for (const auto& hook : options_.hooks) WEIR_RETURN_IF_ERROR(hook->OnBegin(session_, step_));
    return OkStatus();
  }

  Status Steps() {
    for (bool stop = false; !stop && step_ < options_.last_step;) {
      ClientSession::Feeds feeds;
      if (options_.feeds) {
        StatusOr<ClientSession::Feeds> next = options_.feeds(step_);
        if (next.status().code() == absl::StatusCode::kOutOfRange) return OkStatus();
        WEIR_ASSIGN_OR_RETURN(feeds, std::move(next));
      }
      const bool summarize =
          writer_ != nullptr && options_.summary_every_steps > 0 && (step_ + 1) % options_.summary_every_steps == 0;
      std::vector<Output> fetches = {loss_};
      if (summarize) {
        for (const auto& [name, value] : options_.summaries) fetches.push_back(value);
      }
      WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, session_.Run(feeds, fetches, {training_.op}));
      ++step_;
      if (summarize) WEIR_RETURN_IF_ERROR(Summarize(values));
      if (values[0].dtype() != DType::kFloat) return InvalidArgument("a loss is a float scalar");
      const double loss = values[0].scalar<float>();
      for (const auto& hook : options_.hooks) WEIR_RETURN_IF_ERROR(hook->OnStep(session_, step_, loss, &stop));
      if (IsTimeToSave()) WEIR_RETURN_IF_ERROR(Save());
    }
    return OkStatus();
  }

  bool IsTimeToSave() const {
    if (options_.folder.empty()) return false;
    if (options_.save_every_steps > 0 && step_ - saved_step_ >= options_.save_every_steps) return true;
    return absl::Now() - last_save_ >= options_.save_every;
  }

  Status Save() {
    WEIR_RETURN_IF_ERROR(saver_.Save(session_, options_.folder + "/model", step_).status());
    saved_step_ = step_;
    last_save_ = absl::Now();
    return OkStatus();
  }

  Status Summarize(const std::vector<Tensor>& values) {
    WEIR_RETURN_IF_ERROR(writer_->Scalar(step_, "loss", values[0].scalar<float>()));
    size_t i = 1;
    for (const auto& [name, output] : options_.summaries) {
      const Tensor& value = values[i++];
      if (value.dtype() != DType::kFloat || value.num_elements() != 1) {
        return InvalidArgument("summary '", name, "' is no float scalar");
      }
      WEIR_RETURN_IF_ERROR(writer_->Scalar(step_, name, value.scalar<float>()));
    }
    return writer_->Flush();
  }

  ClientSession& session_;
  const Training& training_;
  const Output& loss_;
  const TrainingLoopOptions& options_;
  Saver saver_;
  std::unique_ptr<EventWriter> writer_;
  int64_t step_ = 0;
  int64_t saved_step_ = 0;
  absl::Time last_save_;
};

}  // namespace

StatusOr<int64_t> TrainUntil(ClientSession& session, const Training& training, const Output& loss,
                             const TrainingLoopOptions& options) {
  return Loop(session, training, loss, options).Run();
}

}  // namespace weir
