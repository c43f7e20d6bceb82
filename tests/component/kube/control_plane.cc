// SPDX-License-Identifier: Apache-2.0
// Starts the control plane that the tests of src/kube run against. It is real because a stand-in
// would only confirm what we believe about resource versions, conflicts and expired watches.
#include "control_plane.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/text.h"

namespace gantry::kube {
namespace {

pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    // Ends with the test, however that ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  return pid;
}

void End(pid_t& pid, int signal) {
  if (pid > 0) {
    kill(pid, signal);
    waitpid(pid, nullptr, 0);
    pid = -1;
  }
}

}  // namespace

uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(fd);
  return ntohs(address.sin_port);
}

std::string ReadFileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFileText(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

std::string ControlPlane::File(const std::string& name) const { return directory_ + '/' + name; }

ControlPlane::ControlPlane() : etcd_port_(FreePort()), api_port_(FreePort()) {
  const char* binaries = std::getenv("GANTRY_BED_BIN");
  CHECK(binaries != nullptr);
  binaries_ = binaries;
  std::string name = std::filesystem::temp_directory_path() / "gantry-kube-XXXXXX";
  CHECK(mkdtemp(name.data()) != nullptr);
  directory_ = name;
  MakeCertificates();
  const std::string peer = format("http://127.0.0.1:{}", FreePort());
  const std::string client = format("http://127.0.0.1:{}", etcd_port_);
  etcd_ = Spawn({binaries_ + "/etcd", "--data-dir", File("etcd"), "--unsafe-no-fsync",
                 "--listen-client-urls", client, "--advertise-client-urls", client,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", "default=" + peer, "--log-level", "error"},
                File("etcd.log"));
  StartApiServer();
}

ControlPlane::~ControlPlane() {
  End(api_, SIGKILL);
  End(etcd_, SIGKILL);
  std::filesystem::remove_all(directory_);
}

void ControlPlane::MakeCertificates() const {
  const auto shell = [this](const std::string& command) {
    CHECK(std::system(format("cd {} && ( {} ) > /dev/null 2>&1", directory_, command).c_str()) ==
          0);
  };
  shell(
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca");
  shell("openssl genrsa -out sa.key 2048 && openssl rsa -in sa.key -pubout -out sa.pub");
  const auto certificate = [&shell](const std::string& name, const std::string& subject) {
    shell(
        format("openssl req -newkey rsa:2048 -nodes -keyout {0}.key -out {0}.csr -subj {1} && "
               "echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' > {0}.ext && "
               "openssl x509 -req -in {0}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
               "-out {0}.crt -extfile {0}.ext",
               name, subject));
  };
  certificate("server", "/CN=kube-apiserver");
  certificate("admin", "/O=system:masters/CN=admin");
}

void ControlPlane::StopApiServer() { End(api_, SIGKILL); }

void ControlPlane::StartApiServer() {
  api_ = Spawn(
      {binaries_ + "/kube-apiserver", format("--etcd-servers=http://127.0.0.1:{}", etcd_port_),
       "--bind-address=127.0.0.1", "--advertise-address=192.0.2.1",
       format("--secure-port={}", api_port_), "--tls-cert-file=" + File("server.crt"),
       "--tls-private-key-file=" + File("server.key"), "--client-ca-file=" + File("ca.crt"),
       "--service-account-key-file=" + File("sa.pub"),
       "--service-account-signing-key-file=" + File("sa.key"),
       "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
       "--service-cluster-ip-range=10.96.0.0/16", "--cert-dir=" + File("generated"),
       "--disable-admission-plugins=ServiceAccount"},
      File("apiserver.log"));
  const std::unique_ptr<Client> client =
      Client::Create(Admin(), {.timeout = std::chrono::seconds(5)}).value();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // /readyz answers in plain text; the objects that the server makes at its start stand for it.
  while (true) {
    const Result<Json> ns = client->Get(kinds::kNamespace, {"", "default"});
    const Result<Json> role = client->Get(kinds::kClusterRole, {"", "cluster-admin"});
    if (ns.has_value() && role.has_value()) {
      return;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      std::fprintf(stderr, "no API server: %s\n%s\n",
                   (ns.has_value() ? role : ns).error().message.c_str(),
                   ReadFileText(File("apiserver.log")).c_str());
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Config ControlPlane::Anonymous(uint16_t port) const {
  Config config;
  config.host = "127.0.0.1";
  config.port = port;
  config.ca_pem = ReadFileText(File("ca.crt"));
  return config;
}

Config ControlPlane::Admin(uint16_t port) const {
  Config config = Anonymous(port);
  config.client_certificate_pem = ReadFileText(File("admin.crt"));
  config.client_key_pem = ReadFileText(File("admin.key"));
  return config;
}

}  // namespace gantry::kube
