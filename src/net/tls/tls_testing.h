// Shared by the tests of TLS: certificates made on the spot, and a client that blocks.

#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "net/net_testing.h"
#include "net/tls/tls_context.h"

namespace weir {

// A folder with an authority and certificates signed by it, all of elliptic curves, for speed.
class TestCertificates {
 public:
  TestCertificates() {
    auto folder = testing::TempDir() + "weir-tls-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    run("req -x509 " + new_key("ca") + " -days 2 -subj /CN=authority -out ca.pem");
  }
  ~TestCertificates() { std::filesystem::remove_all(folder_); }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  // Makes NAME.pem and NAME.key, signed by the authority.
  TlsFiles make(const std::string& name) {
    run("req " + new_key(name) + " -subj /CN=" + name + " -out " + name + ".csr");
    run("x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out " +
        name + ".pem");
    return {.certificate = path(name + ".pem"), .key = path(name + ".key"), .client_ca = {}};
  }
  std::string path(const std::string& file) const { return folder_ + "/" + file; }
  void run(const std::string& arguments) const {
    const auto command = "cd " + folder_ + " && openssl " + arguments + " >openssl.log 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

 private:
  static std::string new_key(const std::string& name) {
    return "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout " + name + ".key";
  }
  std::string folder_;
};

struct TlsClientOptions {
  int version = 0;  // such as TLS1_2_VERSION; 0: the best that both have
  std::string alpn;
  TlsFiles own;  // to show when asked
};

class TlsClient {
 public:
  explicit TlsClient(const Address& address, const TlsClientOptions& options = {})
      : socket_(address), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    auto* context = context_.get();
    if (options.version != 0) {
      SSL_CTX_set_min_proto_version(context, options.version);
      SSL_CTX_set_max_proto_version(context, options.version);
      SSL_CTX_set_security_level(context, 0);  // allows old versions, to see them refused
    }
    if (!options.own.certificate.empty()) {
      SSL_CTX_use_certificate_chain_file(context, options.own.certificate.c_str());
      SSL_CTX_use_PrivateKey_file(context, options.own.key.c_str(), SSL_FILETYPE_PEM);
    }
    ssl_.reset(SSL_new(context));
    SSL_set_fd(ssl_.get(), socket_.fd());
    if (!options.alpn.empty()) {
      SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(options.alpn.data()),
                          static_cast<unsigned>(options.alpn.size()));
    }
  }

  bool handshake() { return SSL_connect(ssl_.get()) == 1; }
  bool send(std::string_view bytes) {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }
  std::string receive(std::size_t size) {
    auto text = std::string(size, '\0');
    std::size_t filled = 0;
    std::size_t got = 0;
    while (filled < size &&
           SSL_read_ex(ssl_.get(), text.data() + filled, size - filled, &got) == 1) {
      filled += got;
    }
    text.resize(filled);
    return text;
  }
  std::string ask(std::string_view bytes) {
    return send(bytes) ? receive(bytes.size()) : std::string();
  }
  // Reads to the end. Whether the server has announced the end.
  bool ends_politely() {
    while (!receive(4'096).empty()) {
    }
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  void finish_sending() { SSL_shutdown(ssl_.get()); }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  // The CN of the server's certificate.
  std::string server_name() const {
    const auto certificate = std::unique_ptr<X509, decltype(&X509_free)>(
        SSL_get1_peer_certificate(ssl_.get()), X509_free);
    auto name = std::array<char, 64>();
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(),
                              static_cast<int>(name.size()));
    return name.data();
  }
  SSL* ssl() { return ssl_.get(); }
  TestClient& socket() { return socket_; }

 private:
  TestClient socket_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace weir
