// SPDX-License-Identifier: Apache-2.0
// Which certificate and which passwords count now: files that others renew under a running server,
// compared by a stat(2) of each.
#include "http/web_config_file.h"

#include <sys/stat.h>

#include "base/log.h"
#include "base/paths.h"
#include "base/text.h"

namespace gantry::http {

bool WebConfigFile::Stamp::operator==(const Stamp& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
}

WebConfigFile::Stamp WebConfigFile::StampOf(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) {
    return {};
  }
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .size = found.st_size,
          .changed = found.st_ctim};
}

Result<std::unique_ptr<WebConfigFile>> WebConfigFile::Open(std::string path) {
  std::unique_ptr<WebConfigFile> file(new WebConfigFile(std::move(path)));
  TRY(file->Read());
  return file;
}

Status WebConfigFile::Read() {
  const auto wrong = [this](const Error& error) {
    return Fail(ErrorKind::kInvalid, format("read web configuration {}: {}", path_, error.message));
  };
  // Stamps are taken before the files are read: what changes meanwhile is seen the next time.
  stamps_[path_] = StampOf(path_);
  const Result<std::string> text = ReadFile(path_);
  if (!text.has_value()) {
    return wrong(text.error());
  }
  Result<WebConfig> config =
      ParseWebConfig(*text, path_.contains('/') ? ParentOf(path_) : std::string("."));
  if (!config.has_value()) {
    return wrong(config.error());
  }
  std::erase_if(stamps_, [this](const auto& entry) { return entry.first != path_; });
  std::shared_ptr<const ServerTls> tls;
  if (const std::optional<TlsSettings>& settings = config->tls; settings.has_value()) {
    for (const PemSource* source :
         {&settings->certificate, &settings->key, &settings->client_authorities}) {
      if (!source->file.empty()) {
        stamps_[source->file] = StampOf(source->file);
      }
    }
    Result<std::shared_ptr<const ServerTls>> made = ServerTls::Create(*settings);
    if (!made.has_value()) {
      return wrong(made.error());
    }
    tls = std::move(*made);
  }
  if (config->http2) {
    log::Info("{}: http_server_config.http2 is ignored: this server speaks HTTP/1.1", path_);
  }
  config_ = std::move(*config);
  tls_ = std::move(tls);
  return {};
}

void WebConfigFile::Refresh() {
  bool changed = false;
  for (const auto& [path, stamp] : stamps_) {
    changed = changed || StampOf(path) != stamp;
  }
  if (!changed) {
    return;
  }
  // A certificate that has vanished is as stamped the next time: one line is logged.
  for (auto& [path, stamp] : stamps_) {
    stamp = StampOf(path);
  }
  if (const Status read = Read(); !read.has_value()) {
    log::Warning("{}; the previous configuration stays in use", read.error().message);
  }
}

}  // namespace gantry::http
