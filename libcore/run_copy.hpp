// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "aperture/core/executor.hpp"
#include "aperture/core/shape.hpp"

namespace aperture::core {

/// A copy between strided views of equal extents, described as runs of consecutive bytes. Runs lie
/// in the order of the target's strides; dimensions that follow one another without gaps on both
/// sides are joined.
struct RunCopy {
    static constexpr int most_dimensions = 4;
    struct Dimension {
        index_t extent, from_stride, to_stride;  ///< strides in bytes
    };

    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    index_t run_bytes = 0;
    /// The dimensions of the runs, from the outermost.
    std::array<Dimension, most_dimensions> dimension{};
    int dimensions = 0;

    RunCopy(const void* source, void* target, std::size_t element_bytes,
            std::span<const Dimension> of_elements);

    template <class U, class T, int Rank, class From, class To>
    requires std::is_same_v<std::remove_const_t<U>, T> RunCopy(const View<U, Rank, From>& source,
                                                               const View<T, Rank, To>& target)
        : RunCopy(source.data, target.data, sizeof(T), dimensions_of(source, target)) {
        static_assert(Rank <= most_dimensions);
        expects_shape("copy: target", target, source.extent);
    }

    index_t runs() const;
    index_t bytes() const { return runs() * run_bytes; }
    /// Whether a device copies it in one operation: a run, or runs at one distance, which is below
    /// 2 GiB.
    bool is_rectangle() const;

  private:
    template <class U, class T, int Rank, class From, class To>
    static std::array<Dimension, std::size_t(Rank)> dimensions_of(const View<U, Rank, From>& source,
                                                                  const View<T, Rank, To>& target) {
        std::array<Dimension, std::size_t(Rank)> all;
        for (int d = 0; d < Rank; ++d) {
            all[std::size_t(d)] = {source.extent[d], source.stride[d] * index_t(sizeof(T)),
                                   target.stride[d] * index_t(sizeof(T))};
        }
        return all;
    }
};

/// Whether a target that nobody reads soon is stored without being read first; for long runs.
enum class Stores { cached, past_caches };

/// Copies in host memory on all threads of the executor.
void copy_runs(Cpu& cpu, const RunCopy& copy, Stores stores = Stores::cached);
/// Copies in host memory on the calling thread.
void copy_runs(const RunCopy& copy);
/// Copies a rectangle between locked host memory and the device. Asynchronous. Defined in builds
/// with CUDA.
void copy_runs(Gpu& gpu, const RunCopy& copy);
/// On an executor whose memory is the host's.
template <class Executor>
requires std::is_same_v<typename Executor::Space, Host>
void copy_runs(Executor&, const RunCopy& copy) { copy_runs(copy); }

}  // namespace aperture::core
