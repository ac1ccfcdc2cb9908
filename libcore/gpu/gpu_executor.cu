// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "aperture/core/executor.hpp"
#include "aperture/core/timing.hpp"
#include "libcore/allocated_bytes.hpp"
#include "libcore/gpu/cuda_check.hpp"
#include "libcore/gpu/waits.hpp"

namespace aperture::core {

namespace {

std::atomic<std::uint64_t> device_allocation_count{0};
std::atomic<std::uint64_t> device_allocation_bytes{0};

/// The GPU of the newest executor, for threads that have used none.
std::atomic<int> newest_device{0};
/// The GPU of the executor that this thread used last.
thread_local int used_device = -1;
std::atomic<std::uint64_t> wait_count{0};

void make_current(int device) {
    int current = 0;
    APERTURE_CUDA_TRY(cudaGetDevice(&current));
    if (current != device) APERTURE_CUDA_TRY(cudaSetDevice(device));
}
void make_current() { make_current(used_device >= 0 ? used_device : newest_device.load()); }

/// Has machine code for a GPU if the library's kernels have.
__global__ void probe_kernel() {}

constexpr int least_compute_capability = 80;

/// The status that `query` returns when it is no longer cudaErrorNotReady. Waits with checkpoints.
template <class Query>
cudaError_t status_after(Gpu& gpu, const Query& query) {
    // Short waits end at once. In long ones, queries keep other threads from the driver.
    constexpr double eager_ms = 1;
    constexpr std::chrono::microseconds pause(50);
    const Stopwatch watch;
    for (;;) {
        const cudaError_t status = query();
        if (status != cudaErrorNotReady) return status;
        // It is no error that the next check should see.
        static_cast<void>(cudaGetLastError());
        gpu.checkpoint();
        if (watch.ms() > eager_ms) std::this_thread::sleep_for(pause);
    }
}

}  // namespace

std::uint64_t device_allocations() { return device_allocation_count.load(); }
std::uint64_t device_bytes_allocated() { return device_allocation_bytes.load(); }
std::uint64_t waits_for_gpu() { return wait_count.load(); }
void count_wait_for_gpu() { ++wait_count; }

void wait_for_event(Gpu& gpu, cudaEvent_t event) {
    count_wait_for_gpu();
    check_status(gpu.has_checkpoint() ? status_after(gpu, [&] { return cudaEventQuery(event); })
                                      : cudaEventSynchronize(event),
                 "waiting for the GPU");
}

CurrentDevice::CurrentDevice() { APERTURE_CUDA_TRY(cudaGetDevice(&device_)); }
CurrentDevice::~CurrentDevice() {
    int current = device_;
    cudaGetDevice(&current);
    if (current != device_) cudaSetDevice(device_);
}

GpuStatus gpu_status(int device) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError();
        int driver = 0;
        // 0 without a driver; the error itself would report one that is too old.
        cudaDriverGetVersion(&driver);
        return {false, driver == 0 ? "no NVIDIA driver is installed" : cudaGetErrorString(error)};
    }
    if (device < 0 || device >= count) {
        return {false, text("there is no GPU ", device, " (", count, " found)")};
    }
    try {
        cudaDeviceProp properties{};
        APERTURE_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
        const int capability = 10 * properties.major + properties.minor;
        if (capability < least_compute_capability) {
            return {false, text(properties.name, " has compute capability ", properties.major, ".",
                                properties.minor, ", below the minimum of 8.0")};
        }
        int current = 0;
        APERTURE_CUDA_TRY(cudaGetDevice(&current));
        APERTURE_CUDA_TRY(cudaSetDevice(device));
        cudaFuncAttributes attributes{};
        const cudaError_t loaded = cudaFuncGetAttributes(&attributes, probe_kernel);
        APERTURE_CUDA_TRY(cudaSetDevice(current));
        if (loaded == cudaErrorNoKernelImageForDevice) {
            cudaGetLastError();
            return {false,
                    text("this build has no code for ", properties.name, " (compute capability ",
                         properties.major, ".", properties.minor, ")")};
        }
        check_status(loaded, "starting the GPU");
    } catch (const DeviceError& failure) {
        return {false, failure.what()};
    }
    return {true, ""};
}

namespace detail {

void* allocate(Device, std::size_t bytes, Pages) {
    make_current();
    void* block = nullptr;
    APERTURE_CUDA_TRY(cudaMalloc(&block, bytes));
    ++device_allocation_count;
    device_allocation_bytes += bytes;
    return block;
}

// cudaFree waits for what all streams do: no kernel uses memory that was freed.
void release(Device, void* block, Pages) noexcept { cudaFree(block); }

void lock_pages(void* block, std::size_t bytes) {
    make_current();
    APERTURE_CUDA_TRY(cudaHostRegister(block, bytes, cudaHostRegisterPortable));
}

void unlock_pages(void* block) noexcept {
    // Nothing uses memory that is about to be freed.
    cudaDeviceSynchronize();
    cudaHostUnregister(block);
    cudaGetLastError();
}

void copy_bytes(Gpu& gpu, const void* from, void* to, std::size_t bytes, Direction direction) {
    if (bytes == 0) return;
    const cudaMemcpyKind kind =
        direction == Direction::to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    APERTURE_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, kind, gpu.stream()));
}

}  // namespace detail

struct Gpu::State {
    int device = 0;
    cudaDeviceProp properties{};
    cudaStream_t own{};
    cudaStream_t current{};        ///< `own`, or a caller's
    bool own_has_work = false;     ///< for which work in a caller's stream has to wait
    bool caller_had_work = false;  ///< up to caller_end, for which later work has to wait
    cudaEvent_t own_end{};
    cudaEvent_t caller_end{};
    std::function<void()> action;
    Array<std::byte, 1, Device> scratch;

    explicit State(int number) : device(number) {
        use();
        newest_device = device;
        APERTURE_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
        try {
            for (cudaEvent_t* event : {&own_end, &caller_end}) {
                APERTURE_CUDA_TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
            }
            APERTURE_CUDA_TRY(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
        } catch (...) {
            release();
            throw;
        }
        current = own;
    }
    ~State() { release(); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /// The caller is about to use the GPU, perhaps on another thread than before.
    void use() const {
        used_device = device;
        make_current(device);
    }

    /// The current stream, ordered after earlier work in others. The caller submits work to it.
    cudaStream_t stream() {
        if (current == own) {
            own_has_work = true;
            wait_for_caller(own);
        }
        return current;
    }

    void enter(cudaStream_t callers) {
        if (callers == own) return;
        if (own_has_work) {
            APERTURE_CUDA_TRY(cudaEventRecord(own_end, own));
            APERTURE_CUDA_TRY(cudaStreamWaitEvent(callers, own_end, 0));
            own_has_work = false;
        }
        wait_for_caller(callers);
        current = callers;
    }
    void leave() noexcept {
        if (current == own) return;
        // A fault of the device is reported to whoever waits.
        caller_had_work = cudaEventRecord(caller_end, current) == cudaSuccess;
        current = own;
    }

  private:
    /// The caller may have destroyed the stream, which leaves the event.
    void wait_for_caller(cudaStream_t stream) {
        if (!std::exchange(caller_had_work, false)) return;
        APERTURE_CUDA_TRY(cudaStreamWaitEvent(stream, caller_end, 0));
    }
    void release() const noexcept {
        if (own != nullptr) cudaStreamDestroy(own);
        if (own_end != nullptr) cudaEventDestroy(own_end);
        if (caller_end != nullptr) cudaEventDestroy(caller_end);
    }
};

Gpu::Gpu(int device) {
    const GpuStatus status = gpu_status(device);
    if (!status.usable) throw UnfitDevice(text("GPU ", device, " cannot be used: ", status.reason));
    state_ = owned(std::make_unique<State>(device));
}

int Gpu::device() const { return state_->device; }

std::string Gpu::name() const {
    const cudaDeviceProp& p = state_->properties;
    return text(p.name, ", ", p.multiProcessorCount, " SMs, compute capability ", p.major, ".",
                p.minor);
}

int Gpu::compute_capability() const {
    return 10 * state_->properties.major + state_->properties.minor;
}

int Gpu::multiprocessors() const { return state_->properties.multiProcessorCount; }

int Gpu::shared_memory_per_block() const {
    return static_cast<int>(state_->properties.sharedMemPerBlockOptin);
}

std::size_t Gpu::free_memory() const {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    state_->use();
    APERTURE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

std::byte* Gpu::scratch(std::size_t bytes) {
    state_->use();
    if (state_->scratch.size() < static_cast<index_t>(bytes)) {
        // cudaFree waits for the work that uses the old memory.
        state_->scratch.reshape({static_cast<index_t>(bytes)});
    }
    return state_->scratch.data();
}

CUstream_st* Gpu::stream() const {
    state_->use();
    return state_->stream();
}

void Gpu::synchronize() {
    count_wait_for_gpu();
    const cudaStream_t submitted = state_->stream();
    check_status(has_checkpoint() ? status_after(*this, [&] { return cudaStreamQuery(submitted); })
                                  : cudaStreamSynchronize(submitted),
                 "waiting for the GPU");
}

void Gpu::finish() noexcept {
    count_wait_for_gpu();
    try {
        cudaStreamSynchronize(state_->stream());
    } catch (const DeviceError&) {
        // What failed does not go on.
    }
    cudaGetLastError();
}

bool Gpu::idle() const {
    const cudaError_t status = cudaStreamQuery(state_->stream());
    if (status == cudaErrorNotReady) {
        // It is no error that the next check should see.
        static_cast<void>(cudaGetLastError());
        return false;
    }
    check_status(status, "work on the GPU");
    return true;
}

void Gpu::set_checkpoint(std::function<void()> action) { state_->action = std::move(action); }
bool Gpu::has_checkpoint() const { return static_cast<bool>(state_->action); }
void Gpu::checkpoint() const {
    if (state_->action) state_->action();
}

void Gpu::let_wait(CUstream_st* other) {
    state_->use();
    APERTURE_CUDA_TRY(cudaEventRecord(state_->own_end, state_->stream()));
    APERTURE_CUDA_TRY(cudaStreamWaitEvent(other, state_->own_end, 0));
}

OnStream::OnStream(Gpu& gpu, CUstream_st* stream) : gpu_(gpu) {
    gpu.state_->use();
    gpu.state_->enter(stream);
}
OnStream::~OnStream() { gpu_.state_->leave(); }

}  // namespace aperture::core
