#include "weir/io/file_system.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "weir/io/bundle_writer.h"
#include "weir/io/checkpoint_reader.h"
#include "weir/io/faulty_file_system.h"
#include "weir/io/file.h"

namespace weir {
namespace {

std::string FreshFolder(std::string_view name) {
  std::string folder = Cat(::testing::TempDir(), "/", getpid(), "_", name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

Status Write(FileSystem& system, const std::string& path, std::string_view bytes,
             WriteMode mode = WriteMode::kReplace) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, system.OpenForWriting(path, mode));
  WEIR_RETURN_IF_ERROR(file->Append(bytes));
  return file->Close();
}

StatusOr<std::string> Read(FileSystem& system, const std::string& path) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, system.OpenForReading(path));
  std::string out(file->size(), '\0');
  WEIR_RETURN_IF_ERROR(file->ReadUpTo(0, out.size(), out.data()).status());
  return out;
}

// What every file system does.
class AnyFileSystemTest : public ::testing::TestWithParam<bool> {
 protected:
  AnyFileSystemTest()
      : folder_(GetParam() ? FreshFolder("any") : "folder"),
        system_(GetParam() ? MakeLocalFileSystem() : MakeMemoryFileSystem()) {
    EXPECT_EQ(system_->MakeFolders(folder_), OkStatus());
  }
  std::string At(std::string_view name) const { return Cat(folder_, "/", name); }

  const std::string folder_;
  const std::shared_ptr<FileSystem> system_;
};

TEST_P(AnyFileSystemTest, WritesReadsAndAppends) {
  ASSERT_EQ(Write(*system_, At("a"), "one"), OkStatus());
  ASSERT_EQ(Write(*system_, At("a"), "two", WriteMode::kAppend), OkStatus());
  EXPECT_EQ(Read(*system_, At("a")).value(), "onetwo");
  EXPECT_EQ(system_->Stat(At("a"))->size, 6);
  std::string large(300'000, 'x');
  ASSERT_EQ(Write(*system_, At("a"), large), OkStatus());
  EXPECT_EQ(Read(*system_, At("a")).value(), large);
  auto file = system_->OpenForReading(At("a")).value();
  char byte;
  EXPECT_EQ(file->ReadUpTo(large.size(), 1, &byte).value(), 0);
  EXPECT_EQ(file->ReadUpTo(UINT64_MAX, 1, &byte).value(), 0);
}

TEST_P(AnyFileSystemTest, ListsRenamesAndRemoves) {
  ASSERT_EQ(system_->MakeFolders(At("sub/deep")), OkStatus());
  ASSERT_EQ(Write(*system_, At("sub/a"), "1"), OkStatus());
  ASSERT_EQ(Write(*system_, At("sub/b"), "2"), OkStatus());
  std::vector<std::string> names = system_->List(At("sub")).value();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "deep"}));
  ASSERT_EQ(system_->Rename(At("sub/a"), At("sub/b")), OkStatus());
  EXPECT_EQ(Read(*system_, At("sub/b")).value(), "1");
  EXPECT_TRUE(absl::IsFailedPrecondition(system_->RemoveFolder(At("sub"))));
  ASSERT_EQ(system_->RemoveFile(At("sub/b")), OkStatus());
  ASSERT_EQ(system_->RemoveFolder(At("sub/deep")), OkStatus());
  ASSERT_EQ(system_->RemoveFolder(At("sub")), OkStatus());
  EXPECT_TRUE(absl::IsNotFound(system_->Stat(At("sub")).status()));
}

TEST_P(AnyFileSystemTest, RefusesWithTensorFlowsCodes) {
  EXPECT_TRUE(absl::IsNotFound(system_->OpenForReading(At("none")).status()));
  EXPECT_TRUE(absl::IsNotFound(system_->OpenForWriting(At("no/such"), WriteMode::kReplace).status()));
  EXPECT_TRUE(absl::IsNotFound(system_->Rename(At("none"), At("other"))));
  EXPECT_TRUE(absl::IsNotFound(system_->RemoveFile(At("none"))));
  EXPECT_TRUE(absl::IsFailedPrecondition(system_->OpenForReading(folder_).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(system_->OpenForWriting(folder_, WriteMode::kReplace).status()));
  ASSERT_EQ(Write(*system_, At("file"), "x"), OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(system_->List(At("file")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(system_->MakeFolders(At("file/sub"))));
}

INSTANTIATE_TEST_SUITE_P(Systems, AnyFileSystemTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Local" : "Memory"; });

TEST(LocalFileSystem, StaysBelowItsRoot) {
  const std::string outside = FreshFolder("outside");
  const std::string root = FreshFolder("root");
  ASSERT_EQ(Write(*MakeLocalFileSystem(), outside + "/secret", "s"), OkStatus());
  std::filesystem::create_directory_symlink(outside, root + "/link");
  auto system = MakeLocalFileSystem(root);
  ASSERT_EQ(Write(*system, "a", "relative"), OkStatus());
  EXPECT_EQ(Read(*system, root + "/a").value(), "relative");
  EXPECT_EQ(Read(*system, root + "/../" + std::filesystem::path(root).filename().string() + "/a").value(), "relative");
  for (const std::string& path : {outside + "/secret", std::string("../secret"), std::string("link/secret"),
                                  std::string("/etc/passwd"), root + "/..", root + "x/a"}) {
    EXPECT_TRUE(absl::IsPermissionDenied(system->OpenForReading(path).status())) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->OpenForWriting(path, WriteMode::kAppend).status())) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->Stat(path).status())) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->List(path).status())) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->MakeFolders(path + "/new"))) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->Rename("a", path))) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->Rename(path, "b"))) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->RemoveFile(path))) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(system->RemoveFolder(path))) << path;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(system->Stat(std::string("a\0b", 3)).status()));
}

TEST(FileSystems, AreFoundByTheirScheme) {
  ASSERT_EQ(RegisterFileSystem("memtest", MakeMemoryFileSystem()), OkStatus());
  EXPECT_TRUE(absl::IsAlreadyExists(RegisterFileSystem("memtest", MakeMemoryFileSystem())));
  ASSERT_EQ(WriteWholeFile("memtest://a/b/c.txt", "hello"), OkStatus());
  ASSERT_EQ(WriteWholeFile("memtest://a/b/d.txt", "world"), OkStatus());
  EXPECT_EQ(ReadFile("memtest://a/b/c.txt").value(), "hello");
  EXPECT_TRUE(IsFolder("memtest://a/b"));
  EXPECT_EQ(MatchFiles("memtest://a/*/[c-d].txt").value(),
            (std::vector<std::string>{"memtest://a/b/c.txt", "memtest://a/b/d.txt"}));
  EXPECT_TRUE(absl::IsUnimplemented(ReadFile("nobody://a").status()));
  EXPECT_TRUE(absl::IsUnimplemented(RenameFile("memtest://a/b/c.txt", "/tmp/c.txt")));
  const std::string folder = FreshFolder("scheme");
  ASSERT_EQ(WriteWholeFile(Cat("file://", folder, "/x"), "local"), OkStatus());
  EXPECT_EQ(ReadFile(folder + "/x").value(), "local");
}

TEST(FolderOf, KeepsRootsAndSchemes) {
  EXPECT_EQ(FolderOf("a"), "");
  EXPECT_EQ(FolderOf("a/b"), "a");
  EXPECT_EQ(FolderOf("/a"), "/");
  EXPECT_EQ(FolderOf("/a/b/"), "/a/b");
  EXPECT_EQ(FolderOf("ram://a"), "ram://");
  EXPECT_EQ(FolderOf("ram://a/b"), "ram://a");
  EXPECT_EQ(FolderOf("file:///a"), "file:///");
}

TEST(FaultyFileSystem, FailsWhereItWasTold) {
  FaultyFileSystem system(MakeMemoryFileSystem());
  system.SetFaults({.space = 5});
  EXPECT_EQ(Write(system, "a", "123"), OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Write(system, "b", "456")));
  EXPECT_EQ(Read(system, "b").value(), "45");
  system.SetFaults({.reads = 1, .rename = true, .close = true});
  EXPECT_EQ(Read(system, "a").value(), "123");
  EXPECT_TRUE(absl::IsUnknown(Read(system, "a").status()));
  EXPECT_TRUE(absl::IsUnknown(system.Rename("a", "b")));
  EXPECT_TRUE(absl::IsUnknown(Write(system, "a", "")));
}

// Whatever fails while a checkpoint is written: the old one stays, and nothing else is left behind.
TEST(FaultyFileSystem, LosesNoCheckpoint) {
  auto base = MakeMemoryFileSystem();
  auto faulty = std::make_shared<FaultyFileSystem>(base);
  ASSERT_EQ(RegisterFileSystem("faulty", faulty), OkStatus());
  auto save = [](float value) -> Status {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<BundleWriter> writer, BundleWriter::Create("faulty://model"));
    WEIR_RETURN_IF_ERROR(writer->Add("w", Tensor::Vector<float>({value, value, value})));
    return writer->Finish();
  };
  auto saved = []() -> StatusOr<float> {
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader, CheckpointReader::Open("faulty://model"));
    WEIR_ASSIGN_OR_RETURN(Tensor w, reader->Read("w"));
    return w.data<float>()[2];
  };
  ASSERT_EQ(save(1), OkStatus());
  for (int64_t space = 0; space < 64; ++space) {
    faulty->SetFaults({.space = space});
    EXPECT_TRUE(absl::IsResourceExhausted(save(2))) << space;
    faulty->SetFaults({});
    ASSERT_EQ(saved().value_or(-1), 1) << space;
    EXPECT_EQ(base->List("").value().size(), 2) << space;
  }
  for (Faults faults : {Faults{.rename = true}, Faults{.close = true}}) {
    faulty->SetFaults(faults);
    EXPECT_TRUE(absl::IsUnknown(save(2)));
    faulty->SetFaults({});
    ASSERT_EQ(saved().value_or(-1), 1);
  }
  faulty->SetFaults({.reads = 0});
  EXPECT_TRUE(absl::IsUnknown(saved().status()));
  faulty->SetFaults({});
  EXPECT_EQ(save(3), OkStatus());
  EXPECT_EQ(saved().value_or(-1), 3);
}

}  // namespace
}  // namespace weir
