// SPDX-License-Identifier: Apache-2.0
// How does one resource answer a kubelet's v1beta1 calls? From the given device list and allocator.
//
// gRPC's own listening sockets can't be renamed into place or recreated under a running server, so
// the caller accepts connections and this file adopts them. gRPC's synchronous and callback servers
// have threads that wake several times a second, so one thread waits on one completion queue
// without a timeout. A unit of work in flight is a Tag; the queue returns its address.
#include "kubelet/device_plugin/plugin_service.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>

#include "device_plugin_v1beta1.grpc.pb.h"
#include "device_plugin_v1beta1.pb.h"
#include "kubelet/device_plugin/plugin_messages.h"
#include "kubelet/quiet_grpc.h"

namespace gantry::kubelet {
namespace {

using AsyncService = v1beta1::DevicePlugin::AsyncService;

class Tag {
 public:
  virtual ~Tag() = default;
  virtual void Proceed(bool ok) = 0;
};

}  // namespace

class PluginService::Impl {
 public:
  Impl(std::vector<Device> devices, std::shared_ptr<const Allocator> allocator, Callbacks callbacks)
      : callbacks_(std::move(callbacks)),
        devices_(std::move(devices)),
        allocator_(std::move(allocator)) {
    QuietGrpc();
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    // A local socket has no bandwidth to probe.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
    Expect(&AsyncService::RequestGetDevicePluginOptions, &Impl::Options);
    Expect(&AsyncService::RequestAllocate, &Impl::Allocate);
    Expect(&AsyncService::RequestGetPreferredAllocation, &Impl::Prefer);
    Expect(&AsyncService::RequestPreStartContainer, &Impl::PreStart);
    ExpectStream();
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (register_context_ != nullptr) {
        register_context_->TryCancel();
      }
    }
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    thread_.join();
  }

  void Adopt(int connection) { grpc::AddInsecureChannelFromFd(server_.get(), connection); }

  void SetDevices(std::vector<Device> devices) {
    const std::lock_guard lock(mutex_);
    if (devices == devices_) {
      return;
    }
    devices_ = std::move(devices);
    for (auto& stream : streams_) {
      stream.dirty = true;
      Send(stream);
    }
  }

  void SetAllocator(std::shared_ptr<const Allocator> allocator) {
    const std::lock_guard lock(mutex_);
    allocator_ = std::move(allocator);
  }

  void Retire() {
    const std::lock_guard lock(mutex_);
    devices_.clear();
    retiring_ = true;
    for (auto& stream : streams_) {
      stream.dirty = true;
      Send(stream);
    }
  }

  void Leave() {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }

  void Register(int kubelet, const std::string& resource, const std::string& endpoint);

  void GiveUpRegister() {
    const std::lock_guard lock(mutex_);
    if (register_context_ != nullptr) {
      register_context_->TryCancel();
    }
  }

 private:
  template <typename Request, typename Response>
  using Method = void (AsyncService::*)(grpc::ServerContext*, Request*,
                                        grpc::ServerAsyncResponseWriter<Response>*,
                                        grpc::CompletionQueue*, grpc::ServerCompletionQueue*,
                                        void*);
  template <typename Request, typename Response>
  using Answer = grpc::Status (Impl::*)(const Request&, Response&);

  // One unary call: first it is awaited, then answered.
  template <typename Request, typename Response>
  class Unary final : public Tag {
   public:
    Unary(Impl& impl, Method<Request, Response> method, Answer<Request, Response> answer)
        : impl_(impl), method_(method), answer_(answer), writer_(&context_) {
      (impl_.service_.*method_)(&context_, &request_, &writer_, impl_.queue_.get(),
                                impl_.queue_.get(), this);
    }
    void Proceed(bool ok) override {
      if (!ok || answered_) {
        delete this;
        return;
      }
      answered_ = true;
      Response response;
      const auto status = (impl_.*answer_)(request_, response);
      if (status.ok()) {
        writer_.Finish(response, status, this);
      } else {
        writer_.FinishWithError(status, this);
      }
      impl_.Expect(method_, answer_);
    }

   private:
    Impl& impl_;
    const Method<Request, Response> method_;
    const Answer<Request, Response> answer_;
    grpc::ServerContext context_;
    Request request_;
    grpc::ServerAsyncResponseWriter<Response> writer_;
    bool answered_ = false;
  };

  // One ListAndWatch stream. At most one write is in flight; a list that changes meanwhile is sent
  // after it, and only the newest.
  struct Stream {
    // Three things can be in flight at once, so each has a tag.
    struct Part final : Tag {
      Part(Stream& of, void (Impl::*step)(Stream&, bool)) : stream(of), then(step) {}
      void Proceed(bool ok) override { (stream.impl.*then)(stream, ok); }
      Stream& stream;
      void (Impl::*then)(Stream&, bool);
    };

    explicit Stream(Impl& owner)
        : impl(owner),
          writer(&context),
          opened(*this, &Impl::OnOpened),
          written(*this, &Impl::OnWritten),
          done(*this, &Impl::OnDone) {}

    Impl& impl;
    grpc::ServerContext context;
    v1beta1::Empty request;
    grpc::ServerAsyncWriter<v1beta1::ListAndWatchResponse> writer;
    Part opened;
    Part written;
    Part done;
    bool open = false;
    bool writing = false;
    bool finishing = false;
    bool dirty = true;
    bool ended = false;
  };

  template <typename Request, typename Response>
  void Expect(std::type_identity_t<Method<Request, Response>> method,
              Answer<Request, Response> answer) {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      new Unary<Request, Response>(*this, method, answer);
    }
  }

  void ExpectStream() {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return;
    }
    auto& stream = streams_.emplace_back(*this);
    stream.context.AsyncNotifyWhenDone(&stream.done);
    service_.RequestListAndWatch(&stream.context, &stream.request, &stream.writer, queue_.get(),
                                 queue_.get(), &stream.opened);
  }

  void OnOpened(Stream& stream, bool ok) {
    if (!ok) {
      // The server stops: no call came, so no `done` will come.
      const std::lock_guard lock(mutex_);
      Erase(stream);
      return;
    }
    ExpectStream();
    const std::lock_guard lock(mutex_);
    stream.open = true;
    Send(stream);
  }

  void OnWritten(Stream& stream, bool ok) {
    const std::lock_guard lock(mutex_);
    stream.writing = false;
    if (stream.ended) {
      Erase(stream);
    } else if (ok) {
      Send(stream);
    }
  }

  void OnDone(Stream& stream, bool /*ok*/) {
    int open = 0;
    {
      const std::lock_guard lock(mutex_);
      stream.ended = true;
      stream.open = false;
      if (!stream.writing) {
        Erase(stream);
      }
      open = static_cast<int>(std::ranges::count_if(streams_, &Stream::open));
      if (stopping_) {
        return;
      }
    }
    callbacks_.on_stream_ended(open);
  }

  // With the mutex held.
  void Send(Stream& stream) {
    if (!stream.open || stream.writing || stream.finishing) {
      return;
    }
    if (stream.dirty) {
      stream.dirty = false;
      stream.writing = true;
      stream.writer.Write(ToMessage(devices_), &stream.written);
    } else if (retiring_) {
      stream.writing = true;
      stream.finishing = true;
      stream.writer.Finish(grpc::Status::OK, &stream.written);
    }
  }

  void Erase(const Stream& stream) {
    streams_.remove_if([&stream](const Stream& other) { return &other == &stream; });
  }

  std::shared_ptr<const Allocator> allocator() {
    const std::lock_guard lock(mutex_);
    return allocator_;
  }

  grpc::Status Options(const v1beta1::Empty& /*request*/, v1beta1::DevicePluginOptions& response) {
    const std::lock_guard lock(mutex_);
    if (leaving_) {
      return {grpc::StatusCode::UNAVAILABLE, "the plugin leaves the field to its successor"};
    }
    FillOptions(response);
    return grpc::Status::OK;
  }
  grpc::Status Allocate(const v1beta1::AllocateRequest& request,
                        v1beta1::AllocateResponse& response) {
    return AnswerAllocate(*allocator(), request, response);
  }
  grpc::Status Prefer(const v1beta1::PreferredAllocationRequest& request,
                      v1beta1::PreferredAllocationResponse& response) {
    return AnswerPreferred(*allocator(), request, response);
  }
  grpc::Status PreStart(const v1beta1::PreStartContainerRequest& /*request*/,
                        v1beta1::PreStartContainerResponse& /*response*/) {
    return grpc::Status::OK;
  }

  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (Next(tag, ok)) {
      static_cast<Tag*>(tag)->Proceed(ok);
    }
  }

  // Calls come in groups: after GetPreferredAllocation a kubelet calls Allocate at once. Polling
  // for the next call for a moment is faster than to sleep and wake.
  bool Next(void*& tag, bool& ok) {
    constexpr std::chrono::milliseconds kNextCallMayCome(1);
    const auto until = std::chrono::steady_clock::now() + kNextCallMayCome;
    do {
      const auto seen = queue_->AsyncNext(&tag, &ok, gpr_time_0(GPR_CLOCK_MONOTONIC));
      if (seen != grpc::CompletionQueue::TIMEOUT) {
        return seen == grpc::CompletionQueue::GOT_EVENT;
      }
    } while (std::chrono::steady_clock::now() < until);
    return queue_->Next(&tag, &ok);
  }

  class RegisterCall;

  const Callbacks callbacks_;
  AsyncService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;

  std::mutex mutex_;
  bool stopping_ = false;
  bool retiring_ = false;
  bool leaving_ = false;
  std::vector<Device> devices_;
  std::shared_ptr<const Allocator> allocator_;
  std::list<Stream> streams_;
  grpc::ClientContext* register_context_ = nullptr;

  std::thread thread_;
};

// The Register call. The kubelet answers it only after it has dialled and called this service, so
// the accepting thread must not wait for it.
class PluginService::Impl::RegisterCall final : public Tag {
 public:
  RegisterCall(Impl& impl, int kubelet, const v1beta1::RegisterRequest& request)
      : impl_(impl),
        stub_(v1beta1::Registration::NewStub(
            grpc::CreateInsecureChannelFromFd("localhost", kubelet))) {
    impl_.register_context_ = &context_;
    call_ = stub_->AsyncRegister(&context_, request, impl_.queue_.get());
    call_->Finish(&response_, &status_, this);
  }
  void Proceed(bool /*ok*/) override {
    bool stopping = false;
    {
      const std::lock_guard lock(impl_.mutex_);
      impl_.register_context_ = nullptr;
      stopping = impl_.stopping_;
    }
    const auto status = FromGrpc(status_);
    auto& impl = impl_;
    delete this;
    if (!stopping) {
      impl.callbacks_.on_registered(status);
    }
  }

 private:
  Impl& impl_;
  std::unique_ptr<v1beta1::Registration::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1beta1::Empty>> call_;
  v1beta1::Empty response_;
  grpc::Status status_;
};

void PluginService::Impl::Register(int kubelet, const std::string& resource,
                                   const std::string& endpoint) {
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  FillOptions(*request.mutable_options());
  const std::lock_guard lock(mutex_);
  CHECK(register_context_ == nullptr);
  new RegisterCall(*this, kubelet, request);
}

PluginService::PluginService(std::vector<Device> devices,
                             std::shared_ptr<const Allocator> allocator, Callbacks callbacks)
    : impl_(
          std::make_unique<Impl>(std::move(devices), std::move(allocator), std::move(callbacks))) {}
PluginService::~PluginService() = default;
void PluginService::Adopt(int connection) { impl_->Adopt(connection); }
void PluginService::SetDevices(std::vector<Device> devices) {
  impl_->SetDevices(std::move(devices));
}
void PluginService::SetAllocator(std::shared_ptr<const Allocator> allocator) {
  impl_->SetAllocator(std::move(allocator));
}
void PluginService::Retire() { impl_->Retire(); }
void PluginService::Leave() { impl_->Leave(); }
void PluginService::Register(int kubelet, const std::string& resource,
                             const std::string& endpoint) {
  impl_->Register(kubelet, resource, endpoint);
}
void PluginService::GiveUpRegister() { impl_->GiveUpRegister(); }

}  // namespace gantry::kubelet
