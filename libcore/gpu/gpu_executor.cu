// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <atomic>

#include "aperture/core/executor.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::core {

namespace {

std::atomic<std::uint64_t> device_allocation_count{0};

}  // namespace

std::uint64_t device_allocations() { return device_allocation_count.load(); }

GpuStatus gpu_status(int device) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError();
        int driver = 0;
        // 0 where there is none; the error itself would speak of one that is too old.
        cudaDriverGetVersion(&driver);
        return {false, driver == 0 ? "no NVIDIA driver is installed" : cudaGetErrorString(error)};
    }
    if (device < 0 || device >= count) {
        return {false, text("there is no GPU ", device, " (", count, " found)")};
    }
    return {true, ""};
}

namespace detail {

void* allocate(Device, std::size_t bytes, Pages) {
    void* block = nullptr;
    APERTURE_CUDA_TRY(cudaMalloc(&block, bytes));
    ++device_allocation_count;
    return block;
}

void release(Device, void* block, Pages) noexcept { cudaFree(block); }

void* allocate_locked(std::size_t bytes) {
    void* block = nullptr;
    APERTURE_CUDA_TRY(cudaHostAlloc(&block, bytes, cudaHostAllocPortable));
    return block;
}

void release_locked(void* block) noexcept { cudaFreeHost(block); }

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
    cudaStream_t stream{};
    cublasHandle_t cublas{};

    explicit State(int number) : device(number) {
        APERTURE_CUDA_TRY(cudaSetDevice(device));
        APERTURE_CUDA_TRY(cudaGetDeviceProperties(&properties, device));
        APERTURE_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    ~State() {
        if (cublas != nullptr) cublasDestroy(cublas);
        cudaStreamDestroy(stream);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

Gpu::Gpu(int device) {
    const GpuStatus status = gpu_status(device);
    if (!status.usable) throw DeviceError(text("GPU ", device, " cannot be used: ", status.reason));
    state_ = std::make_unique<State>(device);
}
Gpu::~Gpu() = default;
Gpu::Gpu(Gpu&&) noexcept = default;
Gpu& Gpu::operator=(Gpu&&) noexcept = default;

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
    APERTURE_CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

CUstream_st* Gpu::stream() const { return state_->stream; }

cublasContext* Gpu::cublas() {
    if (state_->cublas == nullptr) {
        APERTURE_CUDA_TRY(cublasCreate(&state_->cublas));
        APERTURE_CUDA_TRY(cublasSetStream(state_->cublas, state_->stream));
    }
    return state_->cublas;
}

void Gpu::synchronize() { APERTURE_CUDA_TRY(cudaStreamSynchronize(state_->stream)); }

}  // namespace aperture::core
