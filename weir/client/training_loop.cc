#include "weir/client/training_loop.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/client/ops/state_ops.h"
#include "weir/client/saver.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/event_writer.h"

namespace weir {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(100);
constexpr absl::Duration kMaxPause = absl::Seconds(5);
constexpr char kPositionName[] = "weir/training_loop/position";

// What a loop adds to the graph, once for all its sessions.
class LoopNodes {
 public:
  LoopNodes(const Scope& given, const Training& training, const TrainingLoopOptions& options)
      : saver(given, {.max_to_keep = options.max_to_keep}) {
    const Scope scope = given.WithPrefix("").WithoutControlDependencies();
    initialize = InitializeVariables(scope);
    if (!options.shared) return;
    std::vector<Operation> unsaved;
    for (const Variable& variable : Variables(scope)) {
      has_value.push_back(ops::VarIsInitializedOp(scope, variable.handle()));
      if (!variable.saved()) unsaved.push_back(variable.initializer());
    }
    initialize_unsaved = Group(scope.WithName("init_unsaved"), unsaved);
    step_after = training.step.Read(scope.WithControlDependencies({training.op}));
  }

  Saver saver;
  Operation initialize;
  Operation initialize_unsaved;
  std::vector<Output> has_value;
  Output step_after;  // with the step that was just made, and those of others
};

class Loop {
 public:
  // `is_again`: a session before this one was lost.
  Loop(ClientSession& session, LoopNodes& nodes, const Training& training, const Output& loss,
       const TrainingLoopOptions& options, bool is_again)
      : session_(session),
        nodes_(nodes),
        training_(training),
        loss_(loss),
        options_(options),
        is_again_(is_again),
        writes_(!options.folder.empty() && (options.is_chief || !options.shared)) {}

  StatusOr<int64_t> Run() {
    Status status = Begin();
    if (status.ok()) status = Steps();
    // What was learnt before an error is not lost.
    if (writes_ && begun_ && step_ != saved_step_ && !IsSessionLost(status)) {
      Status saved = Save();
      if (status.ok()) status = saved;
    }
    Status written = nodes_.saver.Wait();
    if (status.ok()) status = written;
    for (const auto& hook : options_.hooks) {
      if (status.ok()) {
        status = hook->OnEnd(session_, step_);
      } else {
        status = hook->OnError(session_, status);
      }
    }
    WEIR_RETURN_IF_ERROR(status);
    if (writer_ != nullptr) WEIR_RETURN_IF_ERROR(writer_->Close());
    return step_;
  }
  bool made_steps() const { return made_steps_; }

 private:
  Status Begin() {
    WEIR_RETURN_IF_ERROR(options_.shared ? PrepareShared() : Restore(nodes_.initialize));
    if (writes_) {
      WEIR_ASSIGN_OR_RETURN(writer_, EventWriter::Create(options_.folder));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor step, session_.Evaluate(training_.step.value()));
    step_ = saved_step_ = step.scalar<int64_t>();
    last_save_ = absl::Now();
    begun_ = true;
    for (const auto& hook : options_.hooks) WEIR_RETURN_IF_ERROR(hook->OnBegin(session_, step_));
    return OkStatus();
  }

  // Runs `before`, then gives the variables the values of the last checkpoint, if there is one.
  Status Restore(const Operation& before) {
    WEIR_RETURN_IF_ERROR(session_.RunTargets({before}));
    StatusOr<std::string> latest = NotFound("no folder");
    if (!options_.folder.empty()) latest = LatestCheckpoint(options_.folder);
    if (absl::IsNotFound(latest.status())) {
      return is_again_ && options_.restore_position ? options_.restore_position(Tensor()) : OkStatus();
    }
    if (!latest.ok()) return latest.status();
    WEIR_RETURN_IF_ERROR(nodes_.saver.Restore(session_, *latest));
    return RestorePosition(*latest);
  }

  Status RestorePosition(const std::string& checkpoint) {
    if (!options_.restore_position) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open(checkpoint));
    if (!reader->tensors().contains(kPositionName)) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor position, reader->Read(kPositionName));
    return options_.restore_position(position);
  }

  Status PrepareShared() {
    WEIR_ASSIGN_OR_RETURN(bool ready, IsReady());
    if (!ready && options_.is_chief) {
      // Others begin when every variable has a value: it must then be the right one.
      const bool restores = !options_.folder.empty() && LatestCheckpoint(options_.folder).ok();
      return Restore(restores ? nodes_.initialize_unsaved : nodes_.initialize);
    }
    const absl::Time deadline = absl::Now() + options_.ready_timeout;
    while (!ready) {
      if (absl::Now() > deadline) {
        return DeadlineExceeded("The chief has not given the variables their values within ",
                                absl::FormatDuration(options_.ready_timeout));
      }
      absl::SleepFor(kLookEvery);
      WEIR_ASSIGN_OR_RETURN(ready, IsReady());
    }
    return OkStatus();
  }

  StatusOr<bool> IsReady() {
    WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> flags, session_.Run(nodes_.has_value));
    return std::all_of(flags.begin(), flags.end(), [](const Tensor& flag) { return flag.scalar<bool>(); });
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
      if (options_.shared) fetches.push_back(nodes_.step_after);
      WEIR_ASSIGN_OR_RETURN(std::vector<Tensor> values, session_.Run(feeds, fetches, {training_.op}));
      step_ = options_.shared ? values.back().scalar<int64_t>() : step_ + 1;
      made_steps_ = true;
      if (summarize) WEIR_RETURN_IF_ERROR(Summarize(values));
      if (values[0].dtype() != DType::kFloat) return InvalidArgument("a loss must be a float scalar");
      const double loss = values[0].scalar<float>();
      for (const auto& hook : options_.hooks) WEIR_RETURN_IF_ERROR(hook->OnStep(session_, step_, loss, &stop));
      if (IsTimeToSave()) WEIR_RETURN_IF_ERROR(Save());
    }
    return OkStatus();
  }

  bool IsTimeToSave() const {
    if (!writes_) return false;
    if (options_.save_every_steps > 0 && step_ - saved_step_ >= options_.save_every_steps) return true;
    return absl::Now() - last_save_ >= options_.save_every;
  }

  Status Save() {
    const std::string prefix = options_.folder + "/model";
    std::map<std::string, Tensor> more;
    if (options_.save_position) {
      WEIR_ASSIGN_OR_RETURN(Tensor position, options_.save_position());
      if (position.has_value()) more[kPositionName] = std::move(position);
    }
    WEIR_RETURN_IF_ERROR(options_.save_in_background ? nodes_.saver.SaveAsync(session_, prefix, step_, more)
                                                     : nodes_.saver.Save(session_, prefix, step_, more).status());
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
        return InvalidArgument("summary '", name, "' is not a float scalar");
      }
      WEIR_RETURN_IF_ERROR(writer_->Scalar(step_, name, value.scalar<float>()));
    }
    return writer_->Flush();
  }

  ClientSession& session_;
  LoopNodes& nodes_;
  const Training& training_;
  const Output& loss_;
  const TrainingLoopOptions& options_;
  const bool is_again_;
  const bool writes_;  // checkpoints and summaries
  bool begun_ = false;
  bool made_steps_ = false;
  std::unique_ptr<EventWriter> writer_;
  int64_t step_ = 0;
  int64_t saved_step_ = 0;
  absl::Time last_save_;
};

}  // namespace

StatusOr<int64_t> TrainUntil(ClientSession& session, const Training& training, const Output& loss,
                             const TrainingLoopOptions& options) {
  LoopNodes nodes(session.scope(), training, options);
  return Loop(session, nodes, training, loss, options, /*is_again=*/false).Run();
}

bool IsSessionLost(const Status& status) { return absl::IsUnavailable(status) || absl::IsAborted(status); }

StatusOr<int64_t> TrainUntil(const Scope& scope, const MakeSession& make_session, const Training& training,
                             const Output& loss, const TrainingLoopOptions& options) {
  LoopNodes nodes(scope, training, options);
  absl::Duration pause = kLookEvery;
  bool is_again = false;
  for (int lost = 0;;) {
    StatusOr<int64_t> steps;
    {
      StatusOr<std::unique_ptr<ClientSession>> session = make_session();
      if (!session.ok()) {
        steps = session.status();
      } else {
        Loop loop(**session, nodes, training, loss, options, is_again);
        is_again = true;
        steps = loop.Run();
        if (loop.made_steps()) {
          lost = 0;
          pause = kLookEvery;
        }
      }
    }
    if (steps.ok() || !IsSessionLost(steps.status()) || ++lost > options.max_recoveries) return steps;
    WEIR_LOG(WARNING) << "the session is lost, a new one is made: " << Message(steps.status());
    absl::SleepFor(pause);
    pause = std::min(pause * 2, kMaxPause);
  }
}

}  // namespace weir
