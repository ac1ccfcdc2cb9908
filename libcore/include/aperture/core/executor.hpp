// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/core/owned.hpp"
#include "aperture/core/view.hpp"

struct CUstream_st;

namespace aperture::core {

/// Runs operations on the calling machine's cores. Every call is synchronous. An executor belongs
/// to one host thread; it keeps the scratch memory of its worker threads between calls.
class Cpu {
  public:
    using Space = Host;

    /// `threads` = 0: OpenMP's default. No process-wide setting is changed.
    explicit Cpu(int threads = 0);

    int threads() const { return threads_; }
    /// "AMD EPYC 9575F, 2 threads, AVX-512".
    std::string name() const;

    /// At least `bytes` of 64-byte aligned memory private to worker `thread`; it grows only, so
    /// that a second call of the same size allocates nothing. Valid until a call for that thread
    /// asks for more.
    std::byte* scratch(int thread, std::size_t bytes);

    /// Nothing to wait for; for generic code.
    void synchronize() {}
    void finish() noexcept {}

    /// Operations that may take a second or longer call `checkpoint` between their steps, on the
    /// calling thread. An exception that `action` throws there ends the operation and reaches its
    /// caller. Outputs are then incomplete, but the operation's object may be used again.
    void set_checkpoint(std::function<void()> action) { action_ = std::move(action); }
    void checkpoint() const {
        if (action_) action_();
    }

  private:
    int threads_;
    std::function<void()> action_;
    std::vector<Array<std::byte, 1, Host>> scratch_;
};

/// For a thread that works while a Cpu computes on others, as one that reads files: call it before
/// the work. Until the thread ends, the Cpu's threads leave their processors while they wait for
/// each other. Otherwise, if they are as many as the processors, they occupy all of them for
/// milliseconds, and wait for the one of them whose processor the other thread has.
void share_processors();

/// Runs operations on one GPU, in order, on a stream of its own or a caller's (OnStream). Calls are
/// asynchronous unless their comment says otherwise. An executor belongs to one host thread, and
/// may be moved to another one. Device arrays are on the GPU of the executor that the calling
/// thread used last; on a thread that has used none, on that of the newest executor. Defined in
/// builds with CUDA; a build without has the declaration only, and `gpu_status` returns the reason.
class Gpu {
  public:
    using Space = Device;

    /// Throws DeviceError if `device` cannot be used.
    explicit Gpu(int device = 0);

    int device() const;
    /// "NVIDIA H200, 132 SMs, compute capability 9.0".
    std::string name() const;
    /// Ten times the major number plus the minor number.
    int compute_capability() const;
    /// Number of streaming multiprocessors.
    int multiprocessors() const;
    /// Largest dynamic shared memory of one block, in bytes.
    int shared_memory_per_block() const;
    /// Bytes of the GPU's memory that no process has allocated.
    std::size_t free_memory() const;

    /// At least `bytes` of device memory, aligned to 256 bytes, for one operation at a time: the
    /// next one in the executor's stream may overwrite it. It grows only, so that a second call of
    /// the same size allocates nothing; a call that asks for more waits for the GPU.
    std::byte* scratch(std::size_t bytes);

    /// The stream that work is submitted to. Makes its GPU the calling thread's current device.
    CUstream_st* stream() const;
    /// Waits for all work submitted so far; throws DeviceError if any of it failed.
    void synchronize();
    /// The same for destructors: without checkpoints, and what failed is not told.
    void finish() noexcept;
    /// Whether all work submitted so far is done. Does not wait; throws DeviceError as
    /// `synchronize` does.
    bool idle() const;

    /// While the host waits for the GPU, in operations too, it calls `checkpoint` again and again.
    /// An exception that `action` throws there ends the wait and reaches the caller of the
    /// operation. What was submitted goes on: device memory and locked memory of the host are not
    /// freed before it is done, and before an operation's object is used again the caller must wait
    /// by `synchronize`. Outputs are then incomplete.
    void set_checkpoint(std::function<void()> action);
    bool has_checkpoint() const;
    void checkpoint() const;

    /// Later work of `other`, a stream of this GPU, starts after what was submitted so far.
    /// Asynchronous.
    void let_wait(CUstream_st* other);

  private:
    friend class OnStream;
    struct State;
    Owned<State> state_;
};

/// While this exists, the executor's work is in the order of `stream`, a stream of its GPU that a
/// caller owns: after what both have so far. Later work of the executor follows it. Asynchronous.
/// Defined in builds with CUDA.
class OnStream {
  public:
    OnStream(Gpu& gpu, CUstream_st* stream);
    ~OnStream();
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;

  private:
    Gpu& gpu_;
};

template <class Executor>
inline constexpr bool is_gpu = std::is_same_v<Executor, Gpu>;

/// How often this process has waited for a GPU, in an executor or in the library's own run-time
/// calls. Asynchronous operations leave it as it is, and tests check this. 0 in a build without
/// CUDA.
std::uint64_t waits_for_gpu();

/// Makes the calling thread's current device what it was when this was created. Defined in builds
/// with CUDA.
class CurrentDevice {
  public:
    CurrentDevice();
    ~CurrentDevice();
    CurrentDevice(const CurrentDevice&) = delete;
    CurrentDevice& operator=(const CurrentDevice&) = delete;

  private:
    int device_ = 0;
};

/// Whether a Gpu can be created here, and if not why: "built without CUDA", a compute capability
/// below 8.0, no code for it in this build, the driver's message, ...
struct GpuStatus {
    bool usable = false;
    std::string reason;
};
GpuStatus gpu_status(int device = 0);

namespace detail {
enum class Direction { to_device, to_host };
void copy_bytes(Gpu& gpu, const void* from, void* to, std::size_t bytes, Direction direction);

template <class From, class To>
void expects_copyable(const From& from, const To& to) {
    expects_shape("copy: source", from, from.extent, Strides::dense);
    expects_shape("copy: target", to, from.extent, Strides::dense);
}
}  // namespace detail

/// Copies between host and device, dense views of equal extents. Asynchronous with respect to the
/// host only for locked host memory (Pages).
template <class T, int Rank, class Layout>
void copy(Gpu& gpu, View<const T, Rank, Host, Layout> from, View<T, Rank, Device, Layout> to) {
    detail::expects_copyable(from, to);
    detail::copy_bytes(gpu, from.data, to.data, static_cast<std::size_t>(from.size()) * sizeof(T),
                       detail::Direction::to_device);
}
template <class T, int Rank, class Layout>
void copy(Gpu& gpu, View<const T, Rank, Device, Layout> from, View<T, Rank, Host, Layout> to) {
    detail::expects_copyable(from, to);
    detail::copy_bytes(gpu, from.data, to.data, static_cast<std::size_t>(from.size()) * sizeof(T),
                       detail::Direction::to_host);
}

}  // namespace aperture::core
