// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>

#include "aperture/core/error.hpp"
#include "libcompose/gpu/device_memory.hpp"
#include "libcompose/gpu/gpu_kernels.hpp"
#include "libcompose/lane_steps.hpp"
#include "libcompose/memory.hpp"
#include "libcompose/side_by_side.hpp"
#include "libcore/gpu/cuda_check.hpp"

namespace aperture::compose {
namespace {

/// A plan, and memory of single runs for the values that a grid computes.
struct Grid {
    Grid(core::Gpu& gpu, const Plan& plan)
        : kernels(gpu, plan, kernels::most_values), flags({kernels::most_values}) {}

    GpuKernels kernels;
    std::deque<DeviceMemory> memories{};
    core::Array<bool, 1, core::Device> flags;
};

/// Memory of a grid, as LaneSteps sees it. The host knows where symbols lie.
class GridMemory {
  public:
    GridMemory(core::Gpu& gpu, Grid& grid, const std::vector<Placement>& placements, index_t count)
        : gpu_(gpu),
          grid_(grid),
          placements_(placements),
          order_(static_cast<std::size_t>(count)),
          now_(order_.size()),
          flags_(order_.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
    }

    void run(const Kernel& kernel, index_t first, index_t end) {
        std::vector<void* const*> rows;
        for (index_t place = first; place < end; ++place) {
            const std::size_t value = value_in(place);
            if (kernel.exchanges) {
                Placement placement = placements_[now_[value]];
                exchange(placement, kernel);
                now_[value] = static_cast<std::size_t>(
                    std::find(placements_.begin(), placements_.end(), placement) -
                    placements_.begin());
            }
            rows.push_back(grid_.memories[value].row(now_[value]));
        }
        if (!kernel.exchanges) grid_.kernels.launch(gpu_.stream(), kernel, rows);
    }
    void store(SymbolId variable, std::int64_t i, index_t first, index_t end) {
        control::set(gpu_.stream(), scalars<long long>(variable, first, end),
                     static_cast<int>(end - first), i);
    }
    Flags flags(SymbolId condition, index_t first, index_t end) {
        const auto count = static_cast<std::size_t>(end - first);
        control::gather(gpu_.stream(), scalars<const bool>(condition, first, end),
                        static_cast<int>(count), grid_.flags.data());
        APERTURE_CUDA_TRY(cudaMemcpyAsync(&flags_[static_cast<std::size_t>(first)],
                                          grid_.flags.data(), count, cudaMemcpyDeviceToHost,
                                          gpu_.stream()));
        gpu_.synchronize();
        return {flags_.data(), 1};
    }
    void swap(std::span<const index_t> back, std::span<const index_t> front) {
        for (std::size_t i = 0; i < back.size(); ++i) {
            std::swap(order_[static_cast<std::size_t>(back[i])],
                      order_[static_cast<std::size_t>(front[i])]);
        }
    }
    /// Submits copies of results that lie elsewhere to the caller's memory.
    void finish() const {
        for (std::size_t value = 0; value < order_.size(); ++value) {
            const DeviceMemory& memory = grid_.memories[value];
            memory.finish(gpu_.stream(), memory.row(now_[value]), &placements_[now_[value]]);
        }
    }

  private:
    std::size_t value_in(index_t place) const { return order_[static_cast<std::size_t>(place)]; }
    template <class T>
    control::OfValues<T> scalars(SymbolId id, index_t first, index_t end) const {
        control::OfValues<T> all{};
        for (index_t place = first; place < end; ++place) {
            all.of[place - first] = grid_.memories[value_in(place)].scalar<T>(id);
        }
        return all;
    }

    core::Gpu& gpu_;
    Grid& grid_;
    const std::vector<Placement>& placements_;
    std::vector<std::size_t> order_;  // of values, by places
    std::vector<std::size_t> now_;    // numbers of placements, by values
    std::vector<std::byte> flags_;    // by places
};

/// The placements that kernels of a plan may leave in any order; none if they are many.
std::vector<Placement> all_placements(const Plan& plan) {
    constexpr std::size_t most = 64;
    Placement home(plan.program->symbols.size());
    std::iota(home.begin(), home.end(), SymbolId{0});
    std::vector<Placement> all{home};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const Kernel* kernel : plan.kernels()) {
            if (!kernel->exchanges) continue;
            Placement next = all[i];
            exchange(next, *kernel);
            if (std::find(all.begin(), all.end(), next) == all.end()) all.push_back(next);
        }
        if (all.size() > most) return {};
    }
    return all;
}

}  // namespace

bool may_be_side_by_side(const Plan& plan) {
    const auto kernels = plan.kernels();
    return !all_placements(plan).empty() &&
           std::all_of(kernels.begin(), kernels.end(), [](const Kernel* kernel) {
               return kernel->exchanges || is_generated(*kernel);
           });
}

template <>
struct SideBySide<core::Gpu>::State {
    explicit State(Plan of_plan) : plan(std::move(of_plan)), placements(all_placements(plan)) {}

    Plan plan;
    std::vector<Placement> placements;
    std::optional<Grid> grid;
};

template <>
SideBySide<core::Gpu>::SideBySide(Plan plan, Tier) {
    core::expects(may_be_side_by_side(plan), "sweep: a GPU cannot run values of ",
                  plan.program->name, " side by side");
    state_ = std::make_unique<State>(std::move(plan));
}
template <>
SideBySide<core::Gpu>::~SideBySide() = default;

template <>
std::vector<FailedValue> SideBySide<core::Gpu>::run(
    core::Gpu& gpu, index_t values, index_t width, const std::function<ValueRun(index_t)>& run_of) {
    auto& [plan, placements, grid] = *state_;
    if (!grid) grid.emplace(gpu, plan);
    std::vector<FailedValue> failed;
    for (index_t first = 0; first < values; first += width) {
        const index_t count = std::min(width, values - first);
        for (index_t i = 0; i < count; ++i) {
            const auto number = static_cast<std::size_t>(i);
            if (grid->memories.size() == number) {
                grid->memories.emplace_back(gpu, plan, placements, 0);
            }
            const auto& [arguments, results] = run_of(first + i);
            validate(*plan.program, arguments, results);
            grid->memories[number].bind(gpu, arguments, results);
        }
        GridMemory memory(gpu, *grid, placements, count);
        LaneSteps steps(*plan.program, memory, count);
        steps.walk(plan.steps, 0, count);
        memory.finish();
        for (const auto& [number, message] : steps.failed()) {
            failed.push_back({first + number, message});
        }
    }
    std::sort(failed.begin(), failed.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    return failed;
}

}  // namespace aperture::compose
