#include "weir/distributed/wire/recv_tensor_messages.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

using google::protobuf::io::ArrayInputStream;
using Kind = RecvTransport::Kind;

Status ReadAnswer(const std::string& bytes, RecvTensorAnswer* out) {
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  return ReadRecvTensorResponse(&stream, bytes.size(), out);
}

std::string WriteAnswer(const RecvTensorAnswer& answer) {
  WireBuffer message;
  EXPECT_TRUE(WriteRecvTensorResponse(answer, &message).ok());
  return message.Flatten();
}

RecvTensorAnswer Kept(bool in_buffer) {
  OutOfBand there{.in_buffer = in_buffer, .dtype = DType::kInt16, .shape = Shape({3, 0, 5})};
  if (!in_buffer) there.socket = "a-socket";
  return {.tensor = Tensor(), .out_of_band = there, .send_start_micros = 7};
}

TEST(RecvTensorMessages, AnswersComeBack) {
  for (bool dead : {false, true}) {
    RecvTensorAnswer sent{.tensor = dead ? Tensor() : Tensor::Scalar(1.0), .is_dead = dead, .send_start_micros = 5};
    RecvTensorAnswer received;
    ASSERT_TRUE(ReadAnswer(WriteAnswer(sent), &received).ok());
    EXPECT_EQ(received.is_dead, dead);
    EXPECT_EQ(received.send_start_micros, 5);
    EXPECT_FALSE(received.out_of_band.has_value());
    if (dead) continue;
    EXPECT_EQ(received.tensor.scalar<double>(), 1.0);
  }
}

TEST(RecvTensorMessages, AnswersSayWhereTheTensorIs) {
  for (bool in_buffer : {false, true}) {
    const std::string bytes = WriteAnswer(Kept(in_buffer));
    RecvTensorAnswer received;
    ASSERT_TRUE(ReadAnswer(bytes, &received).ok());
    ASSERT_TRUE(received.out_of_band.has_value());
    EXPECT_EQ(received.out_of_band->in_buffer, in_buffer);
    EXPECT_EQ(received.out_of_band->socket, in_buffer ? "" : "a-socket");
    EXPECT_EQ(received.out_of_band->dtype, DType::kInt16);
    EXPECT_EQ(received.out_of_band->shape, Shape({3, 0, 5}));
    RecvTensorResponse response;
    ASSERT_TRUE(response.ParseFromString(bytes));
    EXPECT_EQ(response.require_ack(), !in_buffer);
  }
}

TEST(RecvTensorMessages, AWayToAnswerThatIsNotKnownIsAnError) {
  // As an earlier weir offered its memory: by process and address.
  RecvTensorResponse response;
  response.mutable_transport_options()->set_type_url("weir/host_memory");
  response.mutable_transport_options()->set_value(std::string("\x08\x01\x10\x02", 4));
  RecvTensorAnswer received;
  EXPECT_TRUE(absl::IsInvalidArgument(ReadAnswer(response.SerializeAsString(), &received)));
}

TEST(RecvTensorMessages, RequestsSayWhatTheReceiverCanDo) {
  RecvTransport sent{.kind = Kind::kShared, .host = "h", .key = std::string(16, '\xff'), .buffer = 3};
  auto received = ReadTransport(TransportUrl(sent.kind), TransportValue(sent));
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->kind, Kind::kShared);
  EXPECT_EQ(received->host, "h");
  EXPECT_EQ(received->key, sent.key);
  EXPECT_EQ(received->buffer, 3);
  sent = {.kind = Kind::kPiece, .offset = uint64_t{1} << 40};
  EXPECT_EQ(ReadTransport(TransportUrl(sent.kind), TransportValue(sent))->offset, uint64_t{1} << 40);
  EXPECT_EQ(ReadTransport("", "")->kind, Kind::kPlain);
  EXPECT_EQ(ReadTransport("somebody/else", "\xff")->kind, Kind::kPlain);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTransport(TransportUrl(Kind::kFill), "\xff").status()));
}

TEST(RecvTensorMessages, PiecesOfATensorComeBack) {
  Tensor tensor = Tensor::Zeros(DType::kInt32, Shape({5000})).value();
  for (int i = 0; i < 5000; ++i) tensor.data<int32_t>()[i] = i;
  Tensor copy = Tensor::Zeros(DType::kInt32, Shape({5000})).value();
  for (size_t offset = 0, length = 7000; offset < tensor.num_bytes(); offset += length) {
    length = std::min(length, tensor.num_bytes() - offset);
    WireBuffer message;
    WritePieceResponse(tensor, offset, length, &message);
    const std::string bytes = message.Flatten();
    RecvTensorResponse response;
    ASSERT_TRUE(response.ParseFromString(bytes));
    EXPECT_EQ(response.transport_options().value().size(), length);
    char* memory = static_cast<char*>(copy.raw_data()) + offset;
    ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 100);
    StatusOr<size_t> count = ReadPieceResponse(&stream, bytes.size(), memory, length);
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(*count, length);
    ArrayInputStream again(bytes.data(), static_cast<int>(bytes.size()));
    EXPECT_FALSE(ReadPieceResponse(&again, bytes.size(), memory, length - 1).ok());  // more than there is room for
  }
  EXPECT_EQ(memcmp(copy.raw_data(), tensor.raw_data(), tensor.num_bytes()), 0);
}

TEST(RecvTensorMessages, CutOrBrokenBytesAreErrors) {
  const RecvTensorAnswer answers[] = {Kept(false), {.tensor = Tensor::Vector<float>({1, 2, 3})}};
  for (const RecvTensorAnswer& answer : answers) {
    const std::string bytes = WriteAnswer(answer);
    for (size_t i = 0; i < bytes.size(); ++i) {
      RecvTensorAnswer received;
      ReadAnswer(bytes.substr(0, i), &received).IgnoreError();
      std::string broken = bytes;
      broken[i] = static_cast<char>(broken[i] ^ 0x55);
      RecvTensorAnswer other;
      ReadAnswer(broken, &other).IgnoreError();
    }
    RecvTensorAnswer received;
    EXPECT_TRUE(absl::IsInvalidArgument(ReadAnswer(bytes.substr(0, bytes.size() - 1), &received)));
  }
  RecvTensorAnswer empty;
  EXPECT_FALSE(ReadAnswer(std::string(), &empty).ok());
}

}  // namespace
}  // namespace weir
