// SPDX-License-Identifier: Apache-2.0
// Does another toolkit run on this host? The lock that NVIDIA's installer also takes shows it.
#include "operands/container_toolkit/pid_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "host/files.h"

namespace gantry::container_toolkit {

Result<PidFile> PidFile::Make(const std::string& host_root, const std::string& path) {
  TRY_ASSIGN(const std::string folder, ResolveInRoot(host_root, ParentOf(path)));
  TRY(host::MakeDirectories(folder));
  const std::string here = JoinPath(folder, BaseName(path));
  Fd fd(::open(here.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) {
    return FailErrno("open " + here, errno);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? Fail(ErrorKind::kConflict, format("lock {}: another toolkit holds it", here))
               : FailErrno("lock " + here, errno);
  }
  const std::string line = format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) != 0 ||
      ::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return FailErrno("write " + here, errno);
  }
  return PidFile(here, std::move(fd));
}

PidFile::~PidFile() {
  if (fd_.valid()) {
    ::unlink(path_.c_str());
  }
}

}  // namespace gantry::container_toolkit
