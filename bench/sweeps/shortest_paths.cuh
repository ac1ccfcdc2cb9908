// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shortest paths from 32 vertices of a graph, by Bellman and Ford's iteration in place. Source: Ino
// et al. 2013, section 5 ("APSP"), whose kernels push distances along the edges that leave a
// vertex, by atomic operations. These pull them along those that arrive, and need none.

#include <utility>

#include "bench/sweeps/problems.hpp"
#include "libcore/gpu/launch.cuh"
#include "libcore/gpu/locked_pages.hpp"
#include "libcore/gpu/warp.cuh"

namespace aperture::bench {

/// The edges that arrive at each vertex, and the last iteration that has changed a distance.
struct GraphOnDevice {
    index_t vertices;
    const int* offsets;
    const int* from;
    const int* weights;
    int* last_change;

    /// Whether iteration 1, 2, ... has anything to do.
    __device__ __forceinline__ bool goes_on(int iteration) const {
        return *last_change >= iteration - 1;
    }
    /// Stores to one address are made one after another, and so most are spared.
    __device__ __forceinline__ void note_change(int iteration) const {
        if (*last_change < iteration) *last_change = iteration;
    }
};

namespace detail {
inline constexpr int path_threads = 256;
inline constexpr int path_warps = path_threads / core::warp_size;
/// Of neighbours, which are loaded together; divides 32.
inline constexpr int rows_at_once = 4;
/// The host looks whether distances still change after so many iterations.
inline constexpr int iterations_at_once = 8;
}  // namespace detail

/// Zero at the source, infinite elsewhere. Block: 256 threads. Grid: vertices on x.
__global__ void start_path(GraphOnDevice graph, int source, int* distances) {
    const index_t vertex = index_t{blockIdx.x} * detail::path_threads + threadIdx.x;
    if (vertex == 0) *graph.last_change = 0;
    if (vertex < graph.vertices) distances[vertex] = vertex == source ? 0 : infinite_distance;
}

/// An iteration for one source. Block: 256 threads, each a vertex. Grid: vertices on x.
__global__ void __launch_bounds__(detail::path_threads)
    relax_path(GraphOnDevice graph, int iteration, int* distances) {
    const index_t vertex = index_t{blockIdx.x} * detail::path_threads + threadIdx.x;
    if (vertex >= graph.vertices || !graph.goes_on(iteration)) return;
    const int before = distances[vertex];
    int least = before;
    APERTURE_UNROLL_BY(4)
    for (int i = graph.offsets[vertex]; i < graph.offsets[vertex + 1]; ++i) {
        least = min(least, distances[graph.from[i]] + graph.weights[i]);
    }
    if (least < before) {
        distances[vertex] = least;
        graph.note_change(iteration);
    }
}

/// The same for 32 sources, `stride` apart: distances [vertex][source], and a bit for each source
/// whose distance has changed. Block: 8 warps, each a vertex. Grid: vertices on x.
__global__ void start_paths(GraphOnDevice graph, int stride, int* distances, unsigned* changed) {
    const index_t vertex = index_t{blockIdx.x} * detail::path_warps + core::warp_rank();
    if (vertex >= graph.vertices) return;
    const int lane = core::lane_rank();
    const bool source = vertex == index_t{lane} * stride;
    distances[vertex * tasks_at_once + lane] = source ? 0 : infinite_distance;
    const unsigned sources = __ballot_sync(core::full_warp, source);
    if (lane != 0) return;
    changed[vertex] = sources;
    if (vertex == 0) *graph.last_change = 0;
}

/// An iteration for 32 sources, from neighbours that the iteration before has changed.
///
/// Block: 8 warps, each a vertex, a lane each source. Grid: vertices on x.
__global__ void __launch_bounds__(detail::path_threads)
    relax_paths(GraphOnDevice graph, int iteration, int* distances, const unsigned* changed_before,
                unsigned* changed) {
    const index_t vertex = index_t{blockIdx.x} * detail::path_warps + core::warp_rank();
    if (vertex >= graph.vertices || !graph.goes_on(iteration)) return;
    const int lane = core::lane_rank();
    const int end = graph.offsets[vertex + 1];
    int* const own = distances + vertex * tasks_at_once + lane;
    int before = infinite_distance;
    int least = infinite_distance;
    // Edges in lanes, whose loads are then one.
    for (int first = graph.offsets[vertex]; first < end; first += core::warp_size) {
        const bool mine = first + lane < end;
        const int from = mine ? graph.from[first + lane] : 0;
        const int weight = mine ? graph.weights[first + lane] : 0;
        const unsigned of_interest =
            __ballot_sync(core::full_warp, mine && changed_before[from] != 0);
        if (of_interest == 0) continue;
        before = *own;
        const int count = min(end - first, core::warp_size);
        for (int group = 0; group < count; group += detail::rows_at_once) {
            int reached[detail::rows_at_once];
            APERTURE_UNROLL
            for (int i = 0; i < detail::rows_at_once; ++i) {
                const int neighbour = core::broadcast(from, group + i);
                const int length = core::broadcast(weight, group + i);
                const bool wanted = (of_interest >> (group + i) & 1u) != 0;
                // Without a branch the loads wait together.
                const index_t row = wanted ? neighbour : vertex;
                reached[i] = distances[row * tasks_at_once + lane] + (wanted ? length : 0);
            }
            APERTURE_UNROLL
            for (const int distance : reached) least = min(least, distance);
        }
    }
    if (least < before) *own = least;
    const unsigned improved = __ballot_sync(core::full_warp, least < before);
    if (lane != 0) return;
    changed[vertex] = improved;
    if (improved != 0) graph.note_change(iteration);
}

/// See Sweep. The only input is the graph, which all tasks share.
template <class Executor>
class PathSweep {
  public:
    using Input = int;
    using Output = int;

    PathSweep(Executor& executor, const PathProblem& problem)
        : executor_(executor),
          problem_(problem),
          offsets_(problem.offsets.extent()),
          from_(problem.from.extent()),
          weights_(problem.edge_weights.extent()),
          changed_({2, problem.vertices}),
          last_change_({1}),
          host_last_change_({1}, core::locked_pages<Space>()) {}

    index_t input_size() const { return 0; }
    index_t output_size() const { return problem_.vertices; }
    void load() {
        const auto copy = [&](const auto& from, auto& to) {
            core::copy<int, 1, core::Strided>(executor_, from.view(), to.view());
        };
        copy(problem_.offsets, offsets_);
        copy(problem_.from, from_);
        copy(problem_.edge_weights, weights_);
    }

    /// Waits for the device.
    void run_one(index_t task, const int*, int* distances) {
        const unsigned blocks = core::blocks_for(problem_.vertices, detail::path_threads);
        core::launch(executor_, &start_path, core::LaunchConfig(blocks, detail::path_threads),
                     graph(), problem_.source(task), distances);
        iterate([&](int iteration) {
            core::launch(executor_, &relax_path, core::LaunchConfig(blocks, detail::path_threads),
                         graph(), iteration, distances);
        });
    }
    /// Waits for the device.
    void run_all(const int*, int* distances) {
        const unsigned blocks = core::blocks_for(problem_.vertices, detail::path_warps);
        const auto changed = [&](int iteration) {
            return changed_.data() + iteration % 2 * problem_.vertices;
        };
        core::launch(executor_, &start_paths, core::LaunchConfig(blocks, detail::path_threads),
                     graph(), problem_.source(1), distances, changed(0));
        iterate([&](int iteration) {
            core::launch(executor_, &relax_paths, core::LaunchConfig(blocks, detail::path_threads),
                         graph(), iteration, distances, changed(iteration - 1), changed(iteration));
        });
    }

  private:
    using Space = typename Executor::Space;

    GraphOnDevice graph() {
        return {problem_.vertices, offsets_.data(), from_.data(), weights_.data(),
                last_change_.data()};
    }
    template <class Relax>
    void iterate(Relax relax) {
        int iteration = 0;
        do {
            for (int i = 0; i < detail::iterations_at_once; ++i) relax(++iteration);
            core::copy<int, 1, core::Strided>(executor_, std::as_const(last_change_).view(),
                                              host_last_change_.view());
            executor_.synchronize();
        } while (host_last_change_(0) == iteration);
    }

    Executor& executor_;
    const PathProblem& problem_;
    core::Array<int, 1, Space> offsets_, from_, weights_;
    core::Array<unsigned, 2, Space> changed_;
    core::Array<int, 1, Space> last_change_;
    core::Array<int, 1> host_last_change_;
};

}  // namespace aperture::bench
