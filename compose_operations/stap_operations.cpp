// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "aperture/compose_operations/stap.hpp"
#include "aperture/core/error.hpp"
#include "aperture/dense/batch_blas.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/stap/stages.hpp"
#include "compose_operations/places.hpp"
#include "compose_operations/stap_bodies.cuh"
#include "libcompose/operations/call_attributes.hpp"

namespace aperture::compose_operations {

std::span<const core::KernelText> kernel_texts();

}  // namespace aperture::compose_operations

namespace aperture::compose {
namespace {

using core::expects;
using stap::cfloat;
using stap::Problem;

/// Operand i: an array or a batch of c64, or of f32.
const Type& expects_operand(const CallSite& site, std::size_t i, const char* name, Kind kind,
                            int rank, Dtype dtype = Dtype::c64) {
    const Type& type = site.type(i);
    expects(type.kind == kind && type.rank == rank && type.dtype == dtype, site.call.operation,
            ": ", name, " is of type ", text_of(type), ", expected ", name_of(kind), " ",
            name_of(dtype), " of rank ", rank);
    return type;
}
/// Operand 1.
const Type& expects_steering(const CallSite& site) {
    const Type& steering = expects_operand(site, 1, "steering", Kind::array, 2);
    expects(steering.extent[0] <= stap::max_vectors_of_run, site.call.operation, " of ",
            steering.extent[0], " steering vectors, at most ", stap::max_vectors_of_run);
    return steering;
}
void expects_operands(const CallSite& site, std::size_t count) {
    expects(site.operands() == count, site.call.operation, " has ", count,
            count == 1 ? " operand, not " : " operands, not ", site.operands());
}

/// The problem of a cube of Doppler bins and the attributes of a call. Without `loads` the call
/// does not estimate, and may have fewer cells than the order.
Problem problem_of(const CallSite& site, const CallAttributes& attributes, int directions,
                   bool loads) {
    const Type& cube = expects_operand(site, 0, "the cube", Kind::array, 3);
    stap::Parameters parameters;
    parameters.training_block = attributes.integer("block", 64);
    parameters.temporal_taps = attributes.integer("taps", 3);
    const double absolute = attributes.number("loading", 0);
    const double relative = attributes.number("relative_loading", 0);
    expects(absolute == 0 || relative == 0, site.call.operation,
            ": the loading is absolute or relative, not both");
    parameters.loading = {relative != 0 ? relative : absolute, relative != 0};
    if (!loads) parameters.loading = {1, false};
    return stap::make_problem(
        {cube.extent[0], cube.extent[1], cube.extent[2], stap::Domain::doppler}, parameters,
        directions);
}
index_t problems(const Problem& problem) { return problem.doppler_bins * problem.training_sets; }

template <class Executor, int rank>
auto input(const void* data, const core::Extents<rank>& extents) {
    return core::View<const cfloat, rank, typename Executor::Space>(
        static_cast<const cfloat*>(data), extents);
}
template <class Executor, int rank>
auto output(void* data, const core::Extents<rank>& extents) {
    return core::View<cfloat, rank, typename Executor::Space>(static_cast<cfloat*>(data), extents);
}

// Stages: a constructor that checks a call, its result, and Memory<Executor> with what is kept from
// run to run.

core::Extents<3> extents_of(const Type& type) {
    return {type.extent[0], type.extent[1], type.extent[2]};
}
core::Extents<3> extents_of(const stap::CubeShape& shape) {
    return {shape.channels, shape.pulses, shape.range_cells};
}

struct ExtractSnapshots {
    static constexpr std::size_t operands = 1;
    explicit ExtractSnapshots(const CallSite& site)
        : problem(problem_of(site, CallAttributes(site, {"block", "taps"}), 1, false)) {}

    Type result() const {
        return batch(Dtype::c64,
                     {problems(problem), problem.order, problem.parameters.training_block});
    }
    template <class Executor>
    struct Memory {
        Memory(Executor&, const ExtractSnapshots&) {}
        void run(Executor& executor, const ExtractSnapshots& stage,
                 std::span<const void* const> from, void* to) {
            const Problem& p = stage.problem;
            stap::extract_snapshots(
                executor, p, input<Executor>(from[0], extents_of(p.shape)),
                output<Executor>(to, core::Extents<4>{p.doppler_bins, p.training_sets, p.order,
                                                      p.parameters.training_block}));
        }
    };
    Problem problem;
};

struct OuterProducts {
    static constexpr std::size_t operands = 1;
    explicit OuterProducts(const CallSite& site)
        : loading(static_cast<float>(CallAttributes(site, {"loading"}).number("loading", 0))),
          snapshots(expects_operand(site, 0, "the snapshots", Kind::batch, 3)) {
        expects(loading >= 0, site.call.operation, "<loading = ", loading, ">: expected 0 or more");
        expects(snapshots.extent[1] <= dense::max_order, site.call.operation, " of ",
                snapshots.extent[1], " rows, at most ", dense::max_order);
    }
    Type result() const {
        return batch(Dtype::c64, {snapshots.extent[0], snapshots.extent[1], snapshots.extent[1]});
    }
    template <class Executor>
    struct Memory {
        Memory(Executor& executor, const OuterProducts& stage) {
            if (stage.loading == 0) return;
            core::Array<cfloat, 3> ones(extents_of(stage.result()));
            std::fill(ones.begin(), ones.end(), cfloat(0));
            for (index_t problem = 0; problem < ones.extent()[0]; ++problem) {
                for (index_t i = 0; i < ones.extent()[1]; ++i) ones(problem, i, i) = 1;
            }
            if constexpr (std::is_same_v<Executor, core::Cpu>) {
                identities = std::move(ones);
            } else {
                executor.stream();  // Arrays are on the GPU that the thread used last.
                identities = core::Array<cfloat, 3, core::Device>(ones.extent());
                core::copy(executor, std::as_const(ones).view(), identities.view());
                executor.synchronize();
            }
        }
        void run(Executor& executor, const OuterProducts& stage, std::span<const void* const> from,
                 void* to) {
            const auto covariance = output<Executor>(to, extents_of(stage.result()));
            const float mean = 1 / static_cast<float>(stage.snapshots.extent[2]);
            if (stage.loading != 0) {
                dense::change_layout<cfloat>(executor, std::as_const(identities).view(),
                                             covariance);
            }
            dense::hermitian_rank_k<cfloat>(executor, mean,
                                            input<Executor>(from[0], extents_of(stage.snapshots)),
                                            stage.loading, covariance);
        }
        core::Array<cfloat, 3, typename Executor::Space> identities;
    };
    float loading;
    Type snapshots;
};

struct EstimateCovariance {
    static constexpr std::size_t operands = 1;
    explicit EstimateCovariance(const CallSite& site)
        : problem(problem_of(site,
                             CallAttributes(site, {"block", "taps", "loading", "relative_loading"}),
                             1, true)) {}
    Type result() const {
        return batch(Dtype::c64, {problems(problem), problem.order, problem.order});
    }
    template <class Executor>
    struct Memory {
        Memory(Executor&, const EstimateCovariance&) {}
        void run(Executor& executor, const EstimateCovariance& stage,
                 std::span<const void* const> from, void* to) {
            const Problem& p = stage.problem;
            stap::estimate_covariance<float>(
                executor, p, input<Executor>(from[0], extents_of(p.shape)),
                output<Executor>(
                    to, core::Extents<4>{p.doppler_bins, p.training_sets, p.order, p.order}));
        }
    };
    Problem problem;
};

inline constexpr core::Choices<dense::Factorisation, 2> solvers{
    {{"cholesky", dense::Factorisation::cholesky},
     {"gauss_jordan", dense::Factorisation::gauss_jordan}}};

struct SolveWeights {
    static constexpr std::size_t operands = 2;
    explicit SolveWeights(const CallSite& site) {
        const CallAttributes attributes(site, {"solver"});
        const Type& covariance = expects_operand(site, 0, "the covariance", Kind::batch, 3);
        const Type& steering = expects_steering(site);
        expects(covariance.extent[1] == covariance.extent[2] &&
                    covariance.extent[1] == steering.extent[1],
                site.call.operation, " of ", text_of(covariance), " and ", text_of(steering),
                ": their orders differ");
        // One set of one cell in each bin: only sizes matter here.
        stap::Parameters parameters;
        parameters.training_block = 1;
        parameters.temporal_taps = 1;
        parameters.loading = {1, false};
        parameters.solver = attributes.choice("solver", solvers, dense::Factorisation::cholesky);
        problem = stap::make_problem(
            {covariance.extent[1], covariance.extent[0], 1, stap::Domain::doppler}, parameters,
            static_cast<int>(steering.extent[0]));
    }
    Type result() const {
        return batch(Dtype::c64, {problems(problem), problem.steering_vectors, problem.order});
    }
    template <class Executor>
    struct Memory {
        using Space = typename Executor::Space;
        Memory(Executor& executor, const SolveWeights& stage) {
            if constexpr (!std::is_same_v<Executor, core::Cpu>) executor.stream();
            info = core::Array<int, 2, Space>({problems(stage.problem), 1});
            pivot_ratio = core::Array<float, 2, Space>({problems(stage.problem), 1});
        }
        void run(Executor& executor, const SolveWeights& stage, std::span<const void* const> from,
                 void* to) {
            const Problem& p = stage.problem;
            const index_t bins = p.doppler_bins, vectors = p.steering_vectors;
            stap::solve_weights<float>(
                executor, p, input<Executor>(from[0], core::Extents<4>{bins, 1, p.order, p.order}),
                input<Executor>(from[1], core::Extents<2>{vectors, p.order}),
                output<Executor>(to, core::Extents<4>{bins, 1, vectors, p.order}), info,
                pivot_ratio);
        }
        core::Array<int, 2, Space> info;
        core::Array<float, 2, Space> pivot_ratio;
    };
    Problem problem;
};

struct ApplyWeights {
    static constexpr std::size_t operands = 3;
    explicit ApplyWeights(const CallSite& site) {
        const CallAttributes attributes(site, {"block", "taps"});
        const Type& steering = expects_steering(site);
        const Type& weights = expects_operand(site, 2, "the weights", Kind::batch, 3);
        problem = problem_of(site, attributes, static_cast<int>(steering.extent[0]), false);
        expects(steering.extent[1] == problem.order &&
                    weights.extent == std::array<index_t, 3>{problems(problem), steering.extent[0],
                                                             problem.order},
                site.call.operation, ": steering and weights of ", text_of(steering), " and ",
                text_of(weights), "; expected order ", problem.order, " and ", problems(problem),
                " problems");
    }
    Type result() const {
        return array(Dtype::c64,
                     {problem.steering_vectors, problem.doppler_bins, problem.shape.range_cells});
    }
    template <class Executor>
    struct Memory {
        Memory(Executor&, const ApplyWeights&) {}
        void run(Executor& executor, const ApplyWeights& stage, std::span<const void* const> from,
                 void* to) {
            const Problem& p = stage.problem;
            const index_t vectors = p.steering_vectors;
            stap::apply_weights<float>(
                executor, p, input<Executor>(from[0], extents_of(p.shape)),
                input<Executor>(from[1], core::Extents<2>{vectors, p.order}),
                input<Executor>(
                    from[2], core::Extents<4>{p.doppler_bins, p.training_sets, vectors, p.order}),
                output<Executor>(to, extents_of(stage.result())));
        }
    };
    Problem problem;
};

struct AdaptCube {
    static constexpr std::size_t operands = 2;
    explicit AdaptCube(const CallSite& site) {
        const CallAttributes attributes(site,
                                        {"block", "taps", "loading", "relative_loading", "solver"});
        const Type& steering = expects_steering(site);
        problem = problem_of(site, attributes, static_cast<int>(steering.extent[0]), true);
        problem.parameters.solver =
            attributes.choice("solver", solvers, dense::Factorisation::cholesky);
        expects(steering.extent[1] == problem.order, site.call.operation, ": steering of ",
                text_of(steering), "; expected order ", problem.order);
    }
    Type result() const {
        return array(Dtype::c64,
                     {problem.steering_vectors, problem.doppler_bins, problem.shape.range_cells});
    }
    template <class Executor>
    struct Memory {
        using Space = typename Executor::Space;
        Memory(Executor& executor, const AdaptCube& stage) {
            if constexpr (!std::is_same_v<Executor, core::Cpu>) executor.stream();
            const core::Extents<2> sets{stage.problem.doppler_bins, stage.problem.training_sets};
            info = core::Array<int, 2, Space>(sets);
            pivot_ratio = core::Array<float, 2, Space>(sets);
        }
        void run(Executor& executor, const AdaptCube& stage, std::span<const void* const> from,
                 void* to) {
            const Problem& p = stage.problem;
            stap::adapt_cube(
                executor, p, input<Executor>(from[0], extents_of(p.shape)),
                input<Executor>(from[1], core::Extents<2>{p.steering_vectors, p.order}),
                output<Executor>(to, extents_of(stage.result())), info, pivot_ratio);
        }
        core::Array<int, 2, Space> info;
        core::Array<float, 2, Space> pivot_ratio;
    };
    Problem problem;
};

struct Doppler {
    static constexpr std::size_t operands = 1;
    explicit Doppler(const CallSite& site) {
        const CallAttributes attributes(site, {"bins"});
        const Type& pulses = expects_operand(site, 0, "the cube of pulses", Kind::array, 3);
        stap::Parameters parameters;
        parameters.doppler_bins = attributes.integer("bins", 0);
        parameters.temporal_taps = 1;
        parameters.training_block = 1;
        parameters.loading = {1, false};
        problem = stap::make_problem({pulses.extent[0], pulses.extent[1], pulses.extent[2]},
                                     parameters, 1);
    }
    Type result() const {
        return array(Dtype::c64,
                     {problem.shape.channels, problem.doppler_bins, problem.shape.range_cells});
    }
    template <class Executor>
    struct Memory {
        Memory(Executor& executor, const Doppler& stage) : filter(executor, stage.problem) {}
        void run(Executor&, const Doppler& stage, std::span<const void* const> from, void* to) {
            filter.run(input<Executor>(from[0], extents_of(stage.problem.shape)),
                       output<Executor>(to, extents_of(stage.result())));
        }
        stap::DopplerFilter<Executor> filter;
    };
    Problem problem;
};

template <class Stage, class Executor>
class StageCall : public DeviceCall<Executor> {
  public:
    StageCall(Executor& executor, const CallSite& site) : stage_(site), memory_(executor, stage_) {}
    void run(Executor& executor, std::span<const void* const> operands,
             std::span<void* const> results) override {
        memory_.run(executor, stage_, operands, results[0]);
    }

  private:
    Stage stage_;
    typename Stage::template Memory<Executor> memory_;
};

template <class Stage>
class StageOperation : public Operation {
  public:
    Match match(const CallSite& site) const override {
        expects_operands(site, Stage::operands);
        return {Level::device,
                {Stage(site).result()},
                std::vector<Access>(Stage::operands, Access{Access::Kind::whole}),
                0};
    }
    std::unique_ptr<DeviceCall<core::Cpu>> prepare(core::Cpu& cpu,
                                                   const CallSite& site) const override {
        return std::make_unique<StageCall<Stage, core::Cpu>>(cpu, site);
    }
#if APERTURE_CUDA
    std::unique_ptr<DeviceCall<core::Gpu>> prepare(core::Gpu& gpu,
                                                   const CallSite& site) const override {
        return std::make_unique<StageCall<Stage, core::Gpu>>(gpu, site);
    }
#endif
};

/// Operations that call a body of stap_bodies.cuh for each entry of the result.
class EntryOperation : public Operation {
  public:
    std::span<const core::KernelText> texts() const override {
        return compose_operations::kernel_texts();
    }

  protected:
    static Code code_of(std::string expression) {
        return {std::move(expression), {}, {"compose_operations/stap_bodies.cuh"}};
    }
    using Complex = core::Complex<float>;
    static const Complex* complex_entries(const RowOperand& operand) {
        return static_cast<const Complex*>(operand.all);
    }
};

class GammaWeights : public EntryOperation {
  public:
    Match match(const CallSite& site) const override {
        expects_operands(site, 2);
        const CallAttributes none(site, {});
        const Type& weights = expects_operand(site, 0, "the weights", Kind::batch, 3);
        const Type& steering = expects_operand(site, 1, "steering", Kind::array, 2);
        expects(weights.extent[1] == steering.extent[0] && weights.extent[2] == steering.extent[1],
                site.call.operation, " of ", text_of(weights), " and ", text_of(steering));
        return {Level::element,
                {array(Dtype::f32, {weights.extent[0], weights.extent[1]})},
                std::vector<Access>(2, Access{Access::Kind::whole}),
                8 * double(order(site))};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        const Type& weights = site.type(0);
        const Type shape = array(Dtype::f32, {weights.extent[0], weights.extent[1]});
        for_each_place(shape, piece, [&](const auto& at, int i) {
            static_cast<float*>(results[0])[i] =
                bodies::gamma_weight(at, complex_entries(operands[0]), complex_entries(operands[1]),
                                     static_cast<int>(order(site)));
        });
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return code_of(core::text("bodies::gamma_weight(at, ", operands[0], ", ", operands[1], ", ",
                                  order(site), ")"));
    }

  private:
    static index_t order(const CallSite& site) { return site.type(0).extent[2]; }
};

class InnerProducts : public EntryOperation {
  public:
    Match match(const CallSite& site) const override {
        expects_operands(site, 3);
        const CallAttributes attributes(site, {"bins", "cells"});
        const Type& snapshots = expects_operand(site, 0, "the snapshots", Kind::batch, 3);
        const Type& weights = expects_operand(site, 1, "the weights", Kind::batch, 3);
        const Type& gamma = expects_operand(site, 2, "gamma", Kind::array, 2, Dtype::f32);
        const index_t bins = attributes.integer("bins", 0), cells = attributes.integer("cells", 0);
        const index_t block = snapshots.extent[2];
        expects(bins > 0 && cells >= block &&
                    bins * ((cells + block - 1) / block) == snapshots.extent[0],
                site.call.operation, "<bins = ", bins, ", cells = ", cells, "> of ",
                text_of(snapshots));
        expects(weights.extent[0] == snapshots.extent[0] &&
                    weights.extent[2] == snapshots.extent[1] &&
                    gamma.extent[0] == weights.extent[0] && gamma.extent[1] == weights.extent[1],
                site.call.operation, " of ", text_of(snapshots), ", ", text_of(weights), " and ",
                text_of(gamma));
        return {Level::element,
                {array(Dtype::c64, {weights.extent[1], bins, cells})},
                std::vector<Access>(3, Access{Access::Kind::whole}),
                8 * double(snapshots.extent[1])};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        const Type& snapshots = site.type(0);
        for_each_place(match(site).results[0], piece, [&](const auto& at, int i) {
            static_cast<Complex*>(results[0])[i] = bodies::weighted_snapshot(
                at, complex_entries(operands[0]), complex_entries(operands[1]),
                static_cast<const float*>(operands[2].all), static_cast<int>(snapshots.extent[2]),
                static_cast<int>(snapshots.extent[1]), static_cast<int>(site.type(1).extent[1]));
        });
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        const Type& snapshots = site.type(0);
        return code_of(core::text("bodies::weighted_snapshot(at, ", operands[0], ", ", operands[1],
                                  ", ", operands[2], ", ", snapshots.extent[2], ", ",
                                  snapshots.extent[1], ", ", site.type(1).extent[1], ")"));
    }
};

}  // namespace

void add_stap(Registry& registry) {
    registry.add("extract_snapshots", std::make_shared<StageOperation<ExtractSnapshots>>());
    registry.add("outer_products", std::make_shared<StageOperation<OuterProducts>>());
    registry.add("solve_weights", std::make_shared<StageOperation<SolveWeights>>());
    registry.add("gamma_weights", std::make_shared<GammaWeights>());
    registry.add("inner_products", std::make_shared<InnerProducts>());
    registry.add("doppler", std::make_shared<StageOperation<Doppler>>());
    registry.add("estimate_covariance", std::make_shared<StageOperation<EstimateCovariance>>());
    registry.add("adapt_cube", std::make_shared<StageOperation<AdaptCube>>());
    registry.add("apply_weights", std::make_shared<StageOperation<ApplyWeights>>());
}

}  // namespace aperture::compose
