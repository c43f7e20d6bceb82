// SPDX-License-Identifier: Apache-2.0
// How is a .tar.gz written a piece at a time? Through zlib into a file, with one of its files in
// memory. The tar format is in tar.cc.
#include "doctor/archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/paths.h"
#include "base/text.h"
#include "doctor/tar.h"

namespace gantry::doctor {
namespace {

// deflateInit2: the largest window, and 16 for gzip's head and tail instead of zlib's.
constexpr int kGzip = 15 + 16;
constexpr int kMemoryLevel = 8;  // zlib's default

}  // namespace

struct Archive::Stream {
  std::string path;  // empty: standard output
  std::string folder;
  WallTime now;
  Fd file;
  z_stream zlib{};
  size_t files = 0;
  size_t bytes = 0;
  bool whole = false;

  ~Stream() {
    deflateEnd(&zlib);
    if (!path.empty() && !whole) {
      ::unlink(Partial().c_str());
    }
  }
  [[nodiscard]] std::string Partial() const { return path + ".partial"; }

  Status Write(std::string_view bytes_in, int flush) {
    std::string input(bytes_in);  // zlib's input is not const
    zlib.next_in = reinterpret_cast<Bytef*>(input.data());
    zlib.avail_in = static_cast<uInt>(input.size());
    while (true) {
      std::array<char, 64 * 1024> out{};
      zlib.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib.avail_out = static_cast<uInt>(out.size());
      const int code = deflate(&zlib, flush);
      CHECK(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR);
      const size_t made = out.size() - zlib.avail_out;
      TRY(WriteDescriptor(file.get(), {out.data(), made}, "the archive"));
      bytes += made;
      if (zlib.avail_out != 0) {
        return {};
      }
    }
  }
};

Archive::Archive(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
Archive::~Archive() = default;

Result<std::unique_ptr<Archive>> Archive::Create(const std::string& path, std::string folder,
                                                 WallTime now) {
  auto stream = std::make_unique<Stream>();
  stream->folder = std::move(folder);
  stream->now = now;
  CHECK(deflateInit2(&stream->zlib, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) == Z_OK);
  if (path == "-") {
    stream->file = Fd(::dup(STDOUT_FILENO));
  } else {
    stream->path = path;
    // An existing entry may be a link, or a file that other users can read.
    ::unlink(stream->Partial().c_str());
    stream->file =
        Fd(::open(stream->Partial().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  S_IRUSR | S_IWUSR));
  }
  if (!stream->file.valid()) {
    const int error = errno;
    stream->path.clear();  // nothing to remove
    return FailErrno("create " + path, error);
  }
  return std::unique_ptr<Archive>(new Archive(std::move(stream)));
}

Status Archive::Add(std::string_view path, std::string_view content) {
  TRY_ASSIGN(const std::string head,
             TarHead(format("{}/{}", stream_->folder, path), content.size(), stream_->now));
  TRY(stream_->Write(head, Z_NO_FLUSH));
  TRY(stream_->Write(content, Z_NO_FLUSH));
  TRY(stream_->Write(TarPadding(content.size()), Z_NO_FLUSH));
  ++stream_->files;
  return {};
}

Status Archive::Finish() {
  TRY(stream_->Write(TarEnd(), Z_FINISH));
  if (stream_->path.empty()) {
    return {};
  }
  if (::rename(stream_->Partial().c_str(), stream_->path.c_str()) != 0) {
    return FailErrno("rename " + stream_->Partial(), errno);
  }
  stream_->whole = true;
  return {};
}

size_t Archive::files() const { return stream_->files; }
size_t Archive::bytes() const { return stream_->bytes; }

}  // namespace gantry::doctor
