#include "weir/ops/io/reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "absl/synchronization/notification.h"
#include "weir/ops/io/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using S = std::string;

// A queue for what is tested here: names come out in order, and the closed empty queue says so.
class NameQueue : public Queue {
 public:
  explicit NameQueue(std::vector<DType> types = {DType::kString})
      : Queue("names", {.kind = "FIFOQueue", .capacity = 100, .types = std::move(types)}) {}

 protected:
  int64_t SizeLocked() const override { return static_cast<int64_t>(elements_.size()); }
  void PushLocked(Tuple element) override { elements_.push_back(std::move(element)); }
  Tuple PopLocked() override {
    Tuple out = std::move(elements_.front());
    elements_.erase(elements_.begin());
    return out;
  }
  void GiveBackLocked(std::vector<Tuple> elements) override {
    elements_.insert(elements_.begin(), elements.begin(), elements.end());
  }
  int64_t MemoryLocked() const override { return 0; }

 private:
  std::vector<Tuple> elements_;
};

class ReaderTest : public ::testing::Test {
 protected:
  ReaderTest() : folder_(::testing::TempDir() + "weir_reader_test/") { std::filesystem::create_directories(folder_); }
  ~ReaderTest() override { std::filesystem::remove_all(folder_); }

  S File(const S& name, const S& contents) {
    std::ofstream(folder_ + name, std::ios::binary) << contents;
    return folder_ + name;
  }
  void Put(const Tensor& name) {
    queue_->Enqueue({name}, cancellation_, [](auto) {});
  }
  void Close() {
    queue_->Close(false, cancellation_, [](auto) {});
  }
  Tensor Handle(KernelCall call) {
    // A reader that others can name outlives its kernel.
    auto out = call.Attr("shared_name", Cat("reader", readers_++)).Run();
    EXPECT_TRUE(out.ok()) << out.status();
    return (*out)[0];
  }
  Tensor QueueHandle() {
    const S name = Cat("queue", queues_++);
    EXPECT_TRUE(run.device().resources().Create("", name, queue_).ok());
    ResourceHandle handle;
    handle.device = S(run.device().name());
    handle.container = run.device().resources().default_container();
    handle.name = name;
    handle.type_name = S(Queue::kTypeName);
    return Tensor::Scalar(handle);
  }
  // Reads until an error; values joined with '|', and the error's code.
  S ReadAll(const Tensor& reader) {
    const Tensor queue = QueueHandle();
    S out;
    for (int i = 0; i < 20; ++i) {
      auto read = run("ReaderReadV2").Input(reader).Input(queue).Run();
      if (!read.ok()) return Cat(out, absl::StatusCodeToString(read.status().code()));
      S key = (*read)[0].scalar<S>();
      out += Cat(key.substr(key.rfind('/') + 1), "=", (*read)[1].scalar<S>(), "|");
    }
    return out;
  }

  const S folder_;
  KernelRunner run{{RegisterIoKernels}};
  std::shared_ptr<NameQueue> queue_ = std::make_shared<NameQueue>();
  CancellationManager cancellation_;
  int queues_ = 0;
  int readers_ = 0;
};

TEST_F(ReaderTest, Lines) {
  Put(Tensor::Scalar(File("a", "one\r\ntwo\n\nlast")));
  Put(Tensor::Scalar(File("b", "x\ny\n")));
  Close();
  EXPECT_EQ(ReadAll(Handle(run("TextLineReaderV2"))), "a:1=one|a:2=two|a:3=|a:4=last|b:1=x|b:2=y|OUT_OF_RANGE");
}

TEST_F(ReaderTest, LinesBehindAHeader) {
  Put(Tensor::Scalar(File("a", "one\ntwo\n")));
  Put(Tensor::Scalar(File("b", "")));
  Close();
  EXPECT_EQ(ReadAll(Handle(run("TextLineReaderV2").Attr("skip_header_lines", int64_t{1}))), "a:2=two|OUT_OF_RANGE");
}

TEST_F(ReaderTest, RecordsOfEqualLength) {
  struct Row {
    S contents;
    int64_t header, record, footer, hop;
    S expected;
  };
  for (const Row& row :
       {Row{"HEaabbccF", 2, 2, 1, 0, "f:0=aa|f:1=bb|f:2=cc|"}, Row{"HEaabbcF", 2, 2, 1, 0, "f:0=aa|f:1=bb|"},
        Row{"HEaabbF", 2, 2, 1, 1, "f:0=aa|f:1=ab|f:2=bb|"}, Row{"abcdefgh", 0, 2, 0, 3, "f:0=ab|f:1=de|f:2=gh|"},
        Row{"a", 2, 4, 3, 0, ""}}) {
    queue_ = std::make_shared<NameQueue>();
    Put(Tensor::Scalar(File("f", row.contents)));
    Close();
    EXPECT_EQ(ReadAll(Handle(run("FixedLengthRecordReaderV2")
                                 .Attr("header_bytes", row.header)
                                 .Attr("record_bytes", row.record)
                                 .Attr("footer_bytes", row.footer)
                                 .Attr("hop_bytes", row.hop))),
              row.expected + "OUT_OF_RANGE");
  }
}

TEST_F(ReaderTest, StateIsSavedAndRestored) {
  Put(Tensor::Scalar("abc"));
  Put(Tensor::Scalar("def"));
  const Tensor reader = Handle(run("IdentityReaderV2")), queue = QueueHandle();
  ASSERT_TRUE(run("ReaderReadV2").Input(reader).Input(queue).Run().ok());
  auto state = run("ReaderSerializeStateV2").Input(reader).Run();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ((*state)[0].scalar<S>(), S("\x08\x01\x10\x01\x18\x01\"\x03"
                                       "abc"));
  ASSERT_TRUE(run("ReaderReadV2").Input(reader).Input(queue).Run().ok());
  ASSERT_TRUE(run("ReaderRestoreStateV2").Input(reader).Input((*state)[0]).Run().ok());
  auto count = run("ReaderNumRecordsProducedV2").Input(reader).Run();
  ExpectTensorEqual((*count)[0], Tensor::Scalar<int64_t>(1));
  EXPECT_EQ(run("ReaderRestoreStateV2").Input(reader).Input(Tensor::Scalar("junk")).Run().status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run("ReaderSerializeStateV2").Input(Handle(run("TextLineReaderV2"))).Run().status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(ReaderTest, RefusesAStateThatCannotBe) {
  const Tensor reader = Handle(run("IdentityReaderV2"));
  auto restore = [&](S state) {
    return run("ReaderRestoreStateV2").Input(reader).Input(Tensor::Scalar(state)).Run().status();
  };
  EXPECT_EQ(restore("\x18\x07"), OkStatus());
  EXPECT_EQ(Message(restore("\x18\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
            "Unexpected negative value when restoring in reader0: num_records_produced: -3");
  EXPECT_EQ(Message(restore("\xff")), "Could not parse state for reader0: \\xff");
  auto count = run("ReaderNumRecordsProducedV2").Input(reader).Run();
  ExpectTensorEqual((*count)[0], Tensor::Scalar<int64_t>(7));
  EXPECT_EQ(restore("\x50\x05"), OkStatus());  // a field of a later version
}

TEST_F(ReaderTest, BadQueues) {
  struct Row {
    DType type;
    Tensor element;
    S message;
  };
  for (const Row& row :
       {Row{DType::kInt32, Tensor::Scalar(1), "Expected queue with single string component"},
        Row{DType::kString, Tensor::Vector<S>({"a", "b"}), "Expected to dequeue a one-element string tensor"}}) {
    queue_ = std::make_shared<NameQueue>(std::vector<DType>{row.type});
    Put(row.element);
    auto read = run("ReaderReadV2").Input(Handle(run("IdentityReaderV2"))).Input(QueueHandle()).Run();
    EXPECT_EQ(Message(read.status()), row.message);
  }
}

TEST_F(ReaderTest, AReadThatWaitsIsCancelledAndLeavesTheReaderUsable) {
  const Tensor reader = Handle(run("IdentityReaderV2")), queue = QueueHandle();
  Status first, second;
  std::atomic<int> ended = 0;
  absl::Notification first_ended;
  auto waits = run("ReaderReadV2").Input(reader).Input(queue).RunAsync([&](Status s, auto) {
    first = s, ++ended;
    first_ended.Notify();
  });
  auto in_line = run("ReaderReadV2").Input(reader).Input(queue).RunAsync([&](Status s, auto) { second = s, ++ended; });
  EXPECT_EQ(ended, 0);
  in_line->StartCancel();
  EXPECT_EQ(second.code(), absl::StatusCode::kCancelled);
  Put(Tensor::Scalar("x"));
  auto after = run("ReaderReadV2").Input(reader).Input(queue);
  Put(Tensor::Scalar("y"));
  auto out = after.Run();  // comes behind the first
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[1].scalar<S>(), "y");
  ASSERT_TRUE(first_ended.WaitForNotificationWithTimeout(absl::Seconds(60)));
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_EQ(ended, 2);
}

TEST_F(ReaderTest, AReadThatWaitedInLineIsCancelledAtItsTurn) {
  const Tensor reader = Handle(run("IdentityReaderV2")), queue = QueueHandle();
  for (int round = 0; round < 20; ++round) {  // the reader and the queue hear of a cancellation in any order
    absl::Notification first_ended, second_ended;
    Status first, second;
    auto waits = run("ReaderReadV2").Input(reader).Input(queue).RunAsync([&](Status s, auto) {
      first = s;
      first_ended.Notify();
    });
    auto in_line = run("ReaderReadV2").Input(reader).Input(queue).RunAsync([&](Status s, auto) {
      second = s;
      second_ended.Notify();
    });
    Put(Tensor::Scalar("x"));
    first_ended.WaitForNotification();
    EXPECT_TRUE(first.ok()) << first;
    in_line->StartCancel();
    second_ended.WaitForNotification();
    EXPECT_EQ(second.code(), absl::StatusCode::kCancelled);
  }
  Put(Tensor::Scalar("y"));
  auto out = run("ReaderReadV2").Input(reader).Input(queue).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[1].scalar<S>(), "y");
}

}  // namespace
}  // namespace weir
