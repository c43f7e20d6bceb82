// SPDX-License-Identifier: Apache-2.0
// How are gRPC calls of any name served? gRPC's generic service passes the method's path and the
// bytes, so that two versions of one protocol need no code of their own. As in plugin_service.cc,
// the caller accepts connections, and one thread waits on one completion queue without a timeout.
#include "kubelet/dra/call_server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "kubelet/quiet_grpc.h"

namespace gantry::kubelet::dra {
namespace {

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return bytes;
}

grpc::Status ToGrpc(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kUnsupported:
      return {grpc::StatusCode::UNIMPLEMENTED, error.message};
    case ErrorKind::kInvalid:
      return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
    default:
      return {grpc::StatusCode::INTERNAL, error.message};
  }
}

}  // namespace

class CallServer::Impl {
 public:
  explicit Impl(Answer answer) : answer_(std::move(answer)) {
    QuietGrpc();
    grpc::ServerBuilder builder;
    builder.RegisterAsyncGenericService(&service_);
    // A local socket has no bandwidth to probe.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
    Expect();
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    server_->Shutdown(std::chrono::system_clock::now());
    {
      // A call that is being answered still sends its response, which needs the queue.
      std::unique_lock lock(mutex_);
      stopping_ = true;
      ended_.wait(lock, [this] { return answering_ == 0; });
    }
    queue_->Shutdown();
    thread_.join();
  }

  void Adopt(int connection) { grpc::AddInsecureChannelFromFd(server_.get(), connection); }

 private:
  // One call: awaited, its request read, answered, sent. The queue returns its address.
  class Call {
   public:
    explicit Call(Impl& impl) : impl_(impl), stream_(&context_) {
      impl_.service_.RequestCall(&context_, &stream_, impl_.queue_.get(), impl_.queue_.get(), this);
    }

    void Proceed(bool ok) {
      if (state_ == State::kSent || (!ok && state_ == State::kAwaited)) {
        delete this;
        return;
      }
      if (state_ == State::kAwaited) {
        impl_.Expect();
        state_ = State::kRead;
        stream_.Read(&request_, this);
        return;
      }
      state_ = State::kSent;
      if (!ok) {
        stream_.Finish({grpc::StatusCode::INVALID_ARGUMENT, "the call has no request"}, this);
      } else if (!impl_.Begin([this] { Respond(); })) {
        stream_.Finish({grpc::StatusCode::UNAVAILABLE, "the driver ends"}, this);
      }
    }

   private:
    enum class State { kAwaited, kRead, kSent };

    void Respond() {
      const auto response = impl_.answer_(context_.method(), BytesOf(request_));
      if (response.has_value()) {
        const grpc::Slice slice(*response);
        stream_.WriteAndFinish(grpc::ByteBuffer(&slice, 1), {}, grpc::Status::OK, this);
      } else {
        stream_.Finish(ToGrpc(response.error()), this);
      }
    }

    Impl& impl_;
    grpc::GenericServerContext context_;
    grpc::GenericServerAsyncReaderWriter stream_;
    grpc::ByteBuffer request_;
    State state_ = State::kAwaited;
  };

  void Expect() {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      new Call(*this);
    }
  }

  // Answers on a thread of its own; false: the server stops.
  bool Begin(std::function<void()> respond) {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return false;
    }
    ++answering_;
    std::thread([this, respond = std::move(respond)] {
      respond();
      const std::lock_guard end(mutex_);
      --answering_;
      ended_.notify_all();
    }).detach();
    return true;
  }

  void Run() {
    void* call = nullptr;
    bool ok = false;
    while (queue_->Next(&call, &ok)) {
      static_cast<Call*>(call)->Proceed(ok);
    }
  }

  const Answer answer_;
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool stopping_ = false;
  int answering_ = 0;
  std::thread thread_;
};

CallServer::CallServer(Answer answer) : impl_(std::make_unique<Impl>(std::move(answer))) {}
CallServer::~CallServer() = default;
void CallServer::Adopt(int connection) { impl_->Adopt(connection); }

}  // namespace gantry::kubelet::dra
