// Memory between the two ends of a transfer: ReceiveBuffers of a receiver and PeerBuffers of a sender.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "weir/distributed/peer_buffers.h"
#include "weir/distributed/receive_buffers.h"

namespace weir {
namespace {

class SharedMemory : public testing::Test {
 protected:
  void SetUp() override {
    auto listening =
        PeerBuffers::Listen([this](const std::string& key) { return offered_ && key == receiver_->key(); });
    ASSERT_TRUE(listening.ok()) << listening.status();
    sender_ = *std::move(listening);
  }
  ReceiveBuffers::Lease MakeNew(size_t bytes) {
    auto lease = receiver_->MakeNew(bytes, sender_->socket());
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() ? *std::move(lease) : nullptr;
  }
  Status Fill(uint64_t id, const Tensor& tensor) { return sender_->Fill(receiver_->key(), id, tensor); }
  // Hands over what a receiver would not, over a connection of its own.
  Status Hand(std::string key, int memory, uint64_t bytes) {
    StatusOr<UniqueFd> connection = ConnectForBuffers(sender_->socket());
    EXPECT_TRUE(connection.ok()) << connection.status();
    EXPECT_TRUE(SendBuffer(connection->get(), {key, 99, bytes, UniqueFd(memory)}).ok());
    return sender_->Fill(key, 99, Numbers(4));
  }
  static Tensor Numbers(int count) {
    Tensor out = Tensor::Zeros(DType::kInt32, Shape({count})).value();
    for (int i = 0; i < count; ++i) out.data<int32_t>()[i] = i;
    return out;
  }
  static int MakeFile(size_t bytes, int seals) {
    int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(file, F_ADD_SEALS, seals), 0);
    return file;
  }

  std::atomic<bool> offered_{true};
  std::shared_ptr<ReceiveBuffers> receiver_ = std::make_shared<ReceiveBuffers>();
  std::unique_ptr<PeerBuffers> sender_;
};

TEST_F(SharedMemory, ATensorIsCopiedOnceAndItsBufferIsUsedAgain) {
  const Tensor sent = Numbers(100'000);
  EXPECT_EQ(receiver_->TakeIdle(sent.num_bytes()), nullptr);
  ReceiveBuffers::Lease lease = MakeNew(sent.num_bytes());
  const uint64_t id = lease->id();
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(lease->id(), id);
    ASSERT_EQ(Fill(id, sent), OkStatus());
    Tensor received = receiver_->ToTensor(std::move(lease), sent.dtype(), sent.shape()).value();
    EXPECT_TRUE(received.unique());
    EXPECT_EQ(memcmp(received.raw_data(), sent.raw_data(), sent.num_bytes()), 0);
    EXPECT_EQ(receiver_->TakeIdle(sent.num_bytes()), nullptr);
    received = Tensor();
    lease = receiver_->TakeIdle(sent.num_bytes());
    ASSERT_NE(lease, nullptr);
  }
}

TEST_F(SharedMemory, BuffersThatMayBeWrittenIntoAreNotUsedAgain) {
  ReceiveBuffers::Lease lease = MakeNew(1 << 20);
  const uint64_t id = lease->id();
  ASSERT_EQ(Fill(id, Numbers(4)), OkStatus());
  EXPECT_EQ(sender_->num_buffers(), 1);
  lease = nullptr;  // as when the call that asked for it has failed
  EXPECT_EQ(receiver_->num_idle(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Fill(id + 1, Numbers(4))));  // takes what the receiver has sent
  EXPECT_EQ(sender_->num_buffers(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Fill(id, Numbers(4))));
}

TEST_F(SharedMemory, IdleMemoryIsBounded) {
  std::vector<Tensor> tensors;
  const size_t bytes = kIdleReceiveBytes / 4;
  for (int i = 0; i < 6; ++i) {
    tensors.push_back(receiver_->ToTensor(MakeNew(bytes), DType::kUInt8, Shape({static_cast<int64_t>(bytes)})).value());
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(Fill(99, Numbers(4))));
  EXPECT_EQ(sender_->num_buffers(), 6);
  tensors.clear();
  EXPECT_EQ(receiver_->num_idle(), 4);
  EXPECT_TRUE(absl::IsFailedPrecondition(Fill(99, Numbers(4))));
  EXPECT_EQ(sender_->num_buffers(), 4);
}

TEST_F(SharedMemory, TheMemoryLimitCountsReceivedTensors) {
  SetCpuMemoryLimit(CpuAllocator()->Stats().bytes_in_use + (64 << 20));
  ReceiveBuffers::Lease first = MakeNew(48 << 20), second = MakeNew(48 << 20);
  StatusOr<Tensor> fits = receiver_->ToTensor(std::move(first), DType::kUInt8, Shape({48 << 20}));
  EXPECT_TRUE(fits.ok()) << fits.status();
  EXPECT_TRUE(
      absl::IsResourceExhausted(receiver_->ToTensor(std::move(second), DType::kUInt8, Shape({48 << 20})).status()));
  fits = Tensor();
  EXPECT_TRUE(receiver_->ToTensor(MakeNew(48 << 20), DType::kUInt8, Shape({48 << 20})).ok());
  SetCpuMemoryLimit(0);
}

TEST_F(SharedMemory, ATensorOutlivesBothEnds) {
  const Tensor sent = Numbers(1000);
  ReceiveBuffers::Lease lease = MakeNew(sent.num_bytes());
  ASSERT_EQ(Fill(lease->id(), sent), OkStatus());
  Tensor received = receiver_->ToTensor(std::move(lease), sent.dtype(), sent.shape()).value();
  sender_ = nullptr;
  receiver_->Close();
  receiver_ = nullptr;
  EXPECT_EQ(memcmp(received.raw_data(), sent.raw_data(), sent.num_bytes()), 0);
}

TEST_F(SharedMemory, AReceiverThatIsGoneLeavesNothingBehind) {
  ReceiveBuffers::Lease lease = MakeNew(1 << 20);
  ASSERT_EQ(Fill(lease->id(), Numbers(4)), OkStatus());
  receiver_->Close();
  EXPECT_TRUE(absl::IsFailedPrecondition(Fill(lease->id() + 1, Numbers(4))));
  EXPECT_EQ(sender_->num_buffers(), 0);
}

TEST_F(SharedMemory, ASenderThatHasRestartedGetsNewBuffers) {
  Tensor received = receiver_->ToTensor(MakeNew(1 << 20), DType::kUInt8, Shape({1 << 20})).value();
  SetUp();
  ReceiveBuffers::Lease lease = MakeNew(1 << 20);
  EXPECT_EQ(Fill(lease->id(), Numbers(4)), OkStatus());
  received = Tensor();  // of the earlier sender: it cannot be written by the new one
  EXPECT_EQ(receiver_->TakeIdle(1 << 20), nullptr);
}

TEST_F(SharedMemory, OnlyBuffersLargeEnoughAreFilled) {
  ReceiveBuffers::Lease lease = MakeNew(4096);
  EXPECT_EQ(lease->capacity(), 4096);
  EXPECT_TRUE(absl::IsFailedPrecondition(Fill(lease->id(), Numbers(1025))));
  EXPECT_EQ(Fill(lease->id(), Numbers(1024)), OkStatus());
}

TEST_F(SharedMemory, ReceiversWithoutAnOfferAreRefused) {
  // A wrong secret.
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(MakeBufferKey(), MakeFile(4096, F_SEAL_SHRINK), 4096)));
  // The right one, while there is nothing to be had.
  offered_ = false;
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(receiver_->key(), MakeFile(4096, F_SEAL_SHRINK), 4096)));
  EXPECT_EQ(sender_->num_buffers(), 0);
  offered_ = true;
  EXPECT_EQ(Hand(receiver_->key(), MakeFile(4096, F_SEAL_SHRINK), 4096), OkStatus());
}

TEST_F(SharedMemory, MemoryThatCouldShrinkOrIsNoneIsRefused) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(receiver_->key(), MakeFile(4096, 0), 4096)));
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(receiver_->key(), MakeFile(4096, F_SEAL_GROW), 4096)));
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(receiver_->key(), MakeFile(4096, F_SEAL_SHRINK), 8192)));
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(receiver_->key(), open("/dev/null", O_RDWR | O_CLOEXEC), 4096)));
  EXPECT_TRUE(absl::IsFailedPrecondition(Hand(receiver_->key(), -1, 4096)));
}

TEST_F(SharedMemory, JunkEndsTheConnectionOnly) {
  StatusOr<UniqueFd> connection = ConnectForBuffers(sender_->socket());
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_GT(send(connection->get(), "junk", 4, MSG_NOSIGNAL), 0);
  ReceiveBuffers::Lease lease = MakeNew(4096);
  EXPECT_EQ(Fill(lease->id(), Numbers(4)), OkStatus());
  EXPECT_TRUE(absl::IsUnavailable(SendBuffer(connection->get(), {.id = 1})));
}

TEST_F(SharedMemory, ASocketThatNobodyListensOnIsAnError) {
  Status failed = receiver_->MakeNew(4096, "weir-nobody").status();
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_TRUE(absl::IsUnavailable(receiver_->MakeNew(4096, "").status()));
  EXPECT_TRUE(absl::IsUnavailable(receiver_->MakeNew(4096, std::string(200, 'x')).status()));
}

// Runs `body` in a child process of another user; its result.
template <typename Body>
int AsAnotherUser(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(100);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SharedMemory, ProcessesOfAnotherUserAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  // It has the secret, but not the user.
  const std::string key = receiver_->key();
  const int file = MakeFile(4096, F_SEAL_SHRINK);
  EXPECT_EQ(AsAnotherUser([&] {
              StatusOr<UniqueFd> connection = ConnectForBuffers(sender_->socket());
              if (!connection.ok()) return 1;
              SendBuffer(connection->get(), {key, 99, 4096, UniqueFd(file)}).IgnoreError();  // refused by now, perhaps
              return 0;
            }),
            0);
  EXPECT_TRUE(absl::IsFailedPrecondition(sender_->Fill(key, 99, Numbers(4))));
  EXPECT_EQ(sender_->num_buffers(), 0);
}

TEST_F(SharedMemory, ASocketOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int names[2], done[2];
  ASSERT_EQ(pipe2(names, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(done, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(100);
    std::string name;
    StatusOr<UniqueFd> listener = ListenForBuffers(&name);
    if (!listener.ok() || write(names[1], name.data(), name.size()) != static_cast<ssize_t>(name.size())) _exit(1);
    char end;
    (void)!read(done[0], &end, 1);
    _exit(0);
  }
  char name[256];
  const ssize_t size = read(names[0], name, sizeof(name));
  ASSERT_GT(size, 0);
  Status refused = receiver_->MakeNew(4096, std::string(name, static_cast<size_t>(size))).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_NE(Message(refused).find("belongs to user 65534"), std::string::npos) << refused;
  (void)!write(done[1], "x", 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weir
