// Groups whose ranks on different hosts talk through TLS.
#include "weir/collective/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

#include "weir/base/free_ports.h"
#include "weir/base/strings.h"
#include "weir/collective/process_group.h"
#include "weir/collective/socket.h"

namespace weir::collective {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::vector<Place> PlacesOf(int ranks, const TlsOptions& tls) {
  static int count = 0;
  const std::string job = Cat("tls_test_", getpid(), "_", ++count);
  const std::string address = Cat("127.0.0.1:", FreePorts(1)[0]);
  std::vector<Place> out;
  for (int r = 0; r < ranks; ++r) {
    out.push_back({r, ranks, 0, 1, job, "test", Cat("host", r), address, "secret", -1, tls});
  }
  return out;
}

void ExpectSums(ProcessGroup& group) {
  for (const int64_t count : {1, 5000, 1'000'001}) {
    Tensor value = *Tensor::Allocate(DType::kFloat, Shape({count}));
    for (int64_t i = 0; i < count; ++i) value.data<float>()[i] = static_cast<float>(i % 1000 + group.rank());
    StatusOr<Tensor> sum = group.AllReduce(value, {.op = ReduceOp::kSum});
    ASSERT_TRUE(sum.ok()) << sum.status();
    const int size = group.size();
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(sum->data<float>()[i], static_cast<float>(size * (i % 1000) + size * (size - 1) / 2)) << i;
    }
  }
  EXPECT_EQ(group.Barrier(), OkStatus());
}

void ExpectSumsAmong(const std::vector<Place>& places) {
  std::vector<std::thread> threads;
  for (const Place& place : places) {
    threads.emplace_back([&place] {
      auto group = ProcessGroup::Init(place, {.timeout = absl::Seconds(60)});
      ASSERT_TRUE(group.ok()) << group.status();
      ExpectSums(**group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A certificate authority, and certificates that it signs, in files.
class Authority {
 public:
  explicit Authority(const std::string& folder) : folder_(folder), key_(EVP_EC_gen("P-256")) {
    std::filesystem::create_directories(folder);
    certificate_ = Sign("authority", key_, nullptr);
    WriteCertificate("ca.pem", certificate_);
  }
  ~Authority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  TlsOptions Issue(const std::string& name) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = Sign(name, key, certificate_);
    WriteCertificate(name + ".pem", certificate);
    std::FILE* file = std::fopen((folder_ + "/" + name + ".key").c_str(), "w");
    PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return {true, folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", folder_ + "/ca.pem"};
  }

 private:
  X509* Sign(const std::string& name, EVP_PKEY* key, X509* issuer) {
    X509* certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    if (issuer == nullptr) {
      X509_EXTENSION* is_authority = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
      X509_add_ext(certificate, is_authority, -1);
      X509_EXTENSION_free(is_authority);
    }
    X509_set_issuer_name(certificate, issuer != nullptr ? X509_get_subject_name(issuer) : subject);
    X509_sign(certificate, key_, EVP_sha256());
    return certificate;
  }
  void WriteCertificate(const std::string& name, X509* certificate) {
    std::FILE* file = std::fopen((folder_ + "/" + name).c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
  }

  const std::string folder_;
  EVP_PKEY* const key_;
  X509* certificate_ = nullptr;
  long serial_ = 0;
};

std::string Folder(const std::string& name) { return Cat(testing::TempDir(), "/tls_test_", getpid(), "_", name); }

TEST(TlsTest, TheSecretIsTheKey) {
  for (const int ranks : {2, 4, 5}) ExpectSumsAmong(PlacesOf(ranks, {.is_on = true}));
}

TEST(TlsTest, CertificatesOfOneAuthority) {
  Authority authority(Folder("one"));
  std::vector<Place> places = PlacesOf(3, {});
  for (Place& place : places) place.tls = authority.Issue(Cat("rank", place.rank));
  ExpectSumsAmong(places);
}

// What goes through a connection to rank 0 while a group meets, as somebody in between sees it.
std::string SeenInBetween(const TlsOptions& tls) {
  std::vector<Place> places = PlacesOf(2, tls);
  auto listener = Listen(0);
  EXPECT_TRUE(listener.ok()) << listener.status();
  places[1].address = Cat("127.0.0.1:", PortOf(*listener));
  std::atomic<bool> stop = false;
  std::string seen;
  std::thread between([&] {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    Socket caller, called;
    while (!caller.is_open() && !stop) {
      pollfd entry{listener->file(), POLLIN, 0};
      poll(&entry, 1, 10);
      caller = Accept(*listener).value_or(Socket());
    }
    called = ConnectTo(*ParseEndpoint(places[0].address), deadline).value_or(Socket());
    const auto pass = [&](Socket& from, Socket& to) {
      char bytes[4096];
      const ssize_t got = from.Receive(bytes, sizeof(bytes));
      if (got <= 0) return;
      seen.append(bytes, static_cast<size_t>(got));
      (void)SendBytes(to, std::string_view(bytes, static_cast<size_t>(got)), deadline);
    };
    while (!stop) {
      pollfd entries[] = {{caller.file(), POLLIN, 0}, {called.file(), POLLIN, 0}};
      poll(entries, 2, 10);
      pass(caller, called);
      pass(called, caller);
    }
  });
  ExpectSumsAmong(places);
  stop = true;
  between.join();
  return seen;
}

TEST(TlsTest, NobodyInBetweenCanRead) {
  EXPECT_THAT(SeenInBetween({}), HasSubstr("host1"));
  const std::string seen = SeenInBetween({.is_on = true});
  EXPECT_GT(seen.size(), 100);
  EXPECT_THAT(seen, Not(HasSubstr("host1")));
}

// The error of rank 1 when its own idea of TLS is not rank 0's.
Status ErrorBetween(const Place& first, const Place& second) {
  std::thread host([&first] { (void)ProcessGroup::Init(first, {.timeout = absl::Seconds(1)}); });
  const Status status = ProcessGroup::Init(second, {.timeout = absl::Seconds(1)}).status();
  host.join();
  return status;
}

TEST(TlsTest, ARankThatDoesNotBelongIsTurnedAway) {
  const auto refused = AnyOf(absl::StatusCode::kPermissionDenied, absl::StatusCode::kDeadlineExceeded);
  {
    std::vector<Place> places = PlacesOf(2, {.is_on = true});
    places[1].secret = "another";
    EXPECT_THAT(ErrorBetween(places[0], places[1]).code(), refused);
  }
  {
    Authority one(Folder("first")), other(Folder("second"));
    std::vector<Place> places = PlacesOf(2, one.Issue("rank"));
    places[1].tls = other.Issue("rank");
    EXPECT_THAT(ErrorBetween(places[0], places[1]).code(), refused);
  }
  std::vector<Place> places = PlacesOf(2, {.is_on = true});
  places[1].tls.is_on = false;
  const Status plain = ErrorBetween(places[0], places[1]);
  EXPECT_THAT(plain.code(), refused);
  places = PlacesOf(2, {});
  places[1].tls.is_on = true;
  const Status encrypted = ErrorBetween(places[0], places[1]);
  EXPECT_THAT(encrypted.code(), refused);
  EXPECT_THAT(Message(encrypted), HasSubstr("TLS"));
}

TEST(TlsTest, ARankThatDiesIsNamed) {
  const std::vector<Place> places = PlacesOf(3, {.is_on = true});
  std::vector<std::thread> threads;
  for (const Place& place : places) {
    threads.emplace_back([&place] {
      auto group = ProcessGroup::Init(place, {.timeout = absl::Seconds(60)});
      ASSERT_TRUE(group.ok()) << group.status();
      ExpectSums(**group);
      if (place.rank == 2) return;  // leaves; the others go on
      const Status status = (*group)->AllReduce(Tensor::Scalar(1.0f), {.op = ReduceOp::kSum}).status();
      EXPECT_THAT(Message(status), HasSubstr("Rank 2 has left"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(TlsTest, FilesThatCannotBeReadAreNamed) {
  const TlsOptions tls{true, "/no/such.pem", "/no/such.key", "/no/ca.pem"};
  EXPECT_THAT(TlsSession::Make(-1, tls, "secret", true).status().ToString(),
              AllOf(HasSubstr("The certificate for TLS"), HasSubstr("/no/such.pem")));
}

TEST(TlsTest, VariablesOfTheEnvironment) {
  const auto find = [](std::map<std::string, std::string> variables) {
    return FindTlsOptions([variables](const char* name) {
      auto found = variables.find(name);
      return found != variables.end() ? found->second : "";
    });
  };
  EXPECT_FALSE(find({})->is_on);
  EXPECT_TRUE(find({{"WEIR_TLS", "1"}, {"WEIR_SECRET", "x"}})->is_on);
  EXPECT_FALSE(find({{"WEIR_TLS", "0"}, {"WEIR_SECRET", "x"}})->is_on);
  EXPECT_THAT(Message(find({{"WEIR_TLS", "1"}}).status()), HasSubstr("WEIR_SECRET"));
  EXPECT_THAT(Message(find({{"WEIR_TLS", "yes"}}).status()), HasSubstr("WEIR_TLS=yes"));
  EXPECT_THAT(Message(find({{"WEIR_TLS_CERT", "a.pem"}}).status()), HasSubstr("all three"));
  const auto files = find({{"WEIR_TLS_CERT", "a"}, {"WEIR_TLS_KEY", "b"}, {"WEIR_TLS_CA", "c"}});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_TRUE(files->is_on);
  EXPECT_EQ(files->ca, "c");
}

}  // namespace
}  // namespace weir::collective
