// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "aperture/corr/correlator.hpp"
#include "aperture/corr/estimator.hpp"
#include "aperture/corr/pair_correlator.hpp"
#include "aperture/rpca/mask.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "aperture/signal/box_sum.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/resample.hpp"
#include "aperture/stap/pipeline.hpp"
#include "tests/allocation/counted_new.hpp"
#include "tests/flow/scene.hpp"
#include "tests/flow/solver_cases.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture {
namespace {

using core::Array;
using core::index_t;

/// run(i): run number i, from 0 on, of one object. Only the first run may allocate.
using NumberedRun = std::function<void(int)>;
struct SteadyCase {
    std::string name;
    std::function<NumberedRun()> make;
    int runs = 3;
};
void PrintTo(const SteadyCase& c, std::ostream* stream) { *stream << c.name; }

class SteadyState : public testing::TestWithParam<SteadyCase> {};

TEST_P(SteadyState, LaterRunsAllocateNothing) {
    const NumberedRun run = GetParam().make();
    run(0);
    const auto arrays = core::host_allocations();
    const long news = calls_of_new();
    for (int i = 1; i < GetParam().runs; ++i) run(i);
    EXPECT_EQ(calls_of_new(), news);
    EXPECT_EQ(core::host_allocations(), arrays);
}

/// State(executor, arguments...) along with the executor.
template <class State>
struct OnCpu {
    core::Cpu cpu{2};
    State state;
    template <class... Arguments>
    explicit OnCpu(const Arguments&... arguments) : state(cpu, arguments...) {}
};

/// A run of State(executor, arguments...), which it owns along with the executor.
template <class State, class... Arguments>
NumberedRun run_of(Arguments... arguments) {
    return [owned = std::make_shared<OnCpu<State>>(arguments...)](int i) { owned->state.run(i); };
}

template <class Elements>
void fill_normal(Elements& elements, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(10, 1);
    for (float& value : elements) value = normal(generator);
}

struct Filters {
    core::Cpu& cpu;
    Array<float, 3> planes{{2, 61, 67}};
    Array<float, 3> sums{{2, 61, 67}};
    Array<float, 2> image{{61, 67}};
    Array<float, 2> same{{61, 67}};
    Array<float, 2> half{{31, 34}};

    explicit Filters(core::Cpu& executor) : cpu(executor) {
        fill_normal(planes, 1);
        fill_normal(image, 2);
    }
    void run(int) {
        const core::View<const float, 2> from = std::as_const(image).view();
        for (int size : {3, 5, 7}) signal::median_filter(cpu, from, size, same);
        signal::gaussian_blur(cpu, from, 2, same);
        signal::resize(cpu, from, signal::Interpolation::bicubic, half);
        signal::downsample(cpu, from, half);
        signal::box_sum(cpu, planes, 15, sums);
    }
};

struct Pulses {
    stap::Problem problem;
    Array<stap::cfloat, 3> cube = stap::random_normal<3>({3, 12, 90}, 1);
    stap::OwnedResults results;
    stap::Pipeline<core::Cpu> pipeline;

    Pulses(core::Cpu& cpu, const stap::Parameters& parameters)
        : problem(stap::make_problem({3, 12, 90, stap::Domain::pulse}, parameters, 4)),
          results(problem),
          pipeline(cpu, problem, stap::random_normal<2>({4, 9}, 2)) {}
    void run(int) { pipeline.run(cube, results.views(), nullptr); }
};

struct ImagePair {
    flow::ImagePair pair{flow::Scene(), {45, 67}, flow::Motion::shift(1, -0.5)};
    flow::Estimator<core::Cpu> estimator;
    flow::Flow flow = flow::constant_flow({45, 67}, 0, 0);

    ImagePair(core::Cpu& cpu, const flow::Parameters& parameters)
        : estimator(cpu, {45, 67}, parameters) {}
    void run(int i) {
        const bool starts_from_flow = i > 1;
        estimator.run(pair.image0, pair.image1, flow, starts_from_flow, nullptr);
    }
};

struct Unknowns {
    flow::OwnedSystem system;
    flow::SystemSolver<core::Cpu> solver;
    flow::HostFlow flow = flow::zero_flow({45, 67});
    std::vector<double> residuals;

    Unknowns(core::Cpu& cpu, const flow::Case& c)
        : system(flow::system_of(c, {45, 67})), solver(cpu, {45, 67}, flow::iterated(c, 20)) {}
    void run(int) {
        std::fill(flow.begin(), flow.end(), 0.0F);
        solver.solve(system.view(), flow, nullptr);
        residuals.clear();
        solver.solve(system.view(), flow, &residuals);
    }
};

struct Surfaces {
    Array<float, 3> a{{2, 45, 67}};
    Array<float, 3> b{{2, 45, 67}};
    Array<float, 2> mask{{45, 67}};
    corr::Problem of_each;
    corr::Problem of_all;
    corr::SurfaceEstimator<core::Cpu> estimator;
    corr::SurfaceEstimator<core::Cpu> summed;
    corr::Surfaces surfaces;
    corr::Surfaces summed_surfaces;

    Surfaces(core::Cpu& cpu, corr::Method method)
        : of_each{2, {45, 67}, {20, 30, true}, method, true},
          of_all{2, {45, 67}, {20, 30, true}, method, false},
          estimator(cpu, of_each, corr::Estimator::pearson),
          summed(cpu, of_all, corr::Estimator::pearson) {
        fill_normal(a, 1);
        fill_normal(b, 2);
        std::fill(mask.begin(), mask.end(), 1.0F);
        mask(3, 4) = 0;
        surfaces.reshape(of_each);
        summed_surfaces.reshape(of_all);
    }
    void run(int) {
        estimator.run(a, b, surfaces.views());
        estimator.run(a, a, surfaces.views());
        estimator.run(a, b, mask, mask, surfaces.views());
        summed.run(a, b, summed_surfaces.views());
    }
};

struct ImagesInPairs {
    // The mean is not zero, so the sums are also corrected for it.
    Array<float, 3> image{{2, 45, 67}};
    Array<double, 3> sums{{1, 39, 59}};
    corr::PairCorrelator<core::Cpu> correlator;

    explicit ImagesInPairs(core::Cpu& cpu) : correlator(cpu, {2, {45, 67}, {20, 30, true}}, 2) {
        fill_normal(image, 1);
    }
    void run(int) {
        correlator.load(0, image);
        correlator.load(1, image);
        correlator.run(0, 1, sums);
    }
};

struct Frames {
    rpca::OnlinePca pca;
    Array<float, 2> frames;
    std::vector<float> background;
    std::vector<std::uint8_t> mask;

    Frames(core::Cpu& cpu, index_t values)
        : pca(cpu, values, {}),
          frames({3, values}),
          background(static_cast<std::size_t>(values)),
          mask(background.size(), 255) {
        for (index_t i = 0; i < frames.size(); ++i) frames.data()[i] = static_cast<float>(i % 251);
        pca.begin({frames.data(), {values}});
    }
    void run(int) {
        const index_t values = frames.extent()[1];
        pca.next({frames.data(), {values}}, {background.data(), {values}});
        pca.learn({mask.data(), {1, values}});
    }
};

struct Masks {
    core::Cpu& cpu;
    Array<float, 4> differences{{3, 1, 61, 67}};
    Array<float, 2> scales{{61, 67}};
    Array<std::uint8_t, 3> masks{{3, 61, 67}};

    explicit Masks(core::Cpu& executor) : cpu(executor) {
        std::fill(scales.begin(), scales.end(), 1.0F);
        for (index_t i = 0; i < differences.size(); ++i) {
            differences.data()[i] = i % 67 < 40 ? 30.0F : 0.0F;
        }
    }
    void run(int) {
        const auto inputs = std::as_const(differences).view();
        rpca::find_masks(cpu, {inputs, std::as_const(scales).view(), inputs, inputs},
                         {.min_area = 20}, masks);
        rpca::follow_scales(cpu, inputs, masks, scales);
    }
};

SteadyCase pipeline(const char* name, stap::Training training, stap::Implementation implementation,
                    stap::Precision precision, stap::Detector detector) {
    stap::Parameters p;
    p.training = training;
    p.implementation = implementation;
    p.precision = precision;
    p.detector = detector;
    p.training_block = 20;
    return {std::string("stap_") + name, [p] { return run_of<Pulses>(p); }};
}

std::vector<SteadyCase> all_cases() {
    using stap::Detector, stap::Training, stap::Precision;
    constexpr auto fused = stap::Implementation::fused;
    constexpr auto staged = stap::Implementation::staged;
    std::vector<SteadyCase> cases{
        {"signal", [] { return run_of<Filters>(); }},
        pipeline("fused", Training::block, fused, Precision::fp32, Detector::amf),
        pipeline("fused_mixed", Training::block, fused, Precision::mixed, Detector::amf),
        pipeline("fused_automatic", Training::block, fused, Precision::automatic, Detector::amf),
        pipeline("staged", Training::block, staged, Precision::fp32, Detector::amf),
        pipeline("staged_mixed", Training::block, staged, Precision::mixed, Detector::ace),
        pipeline("staged_cfar", Training::block, staged, Precision::fp32, Detector::cfar),
        pipeline("sliding", Training::sliding, fused, Precision::fp32, Detector::glrt),
        pipeline("sliding_mixed", Training::sliding, fused, Precision::mixed, Detector::none),
        pipeline("all", Training::all, fused, Precision::fp32, Detector::amf),
        {"corr_direct", [] { return run_of<Surfaces>(corr::Method::direct); }},
        {"corr_fft", [] { return run_of<Surfaces>(corr::Method::fft); }},
        {"corr_pairs", [] { return run_of<ImagesInPairs>(); }},
        {"masks", [] { return run_of<Masks>(); }},
        {"online_pca", [] { return run_of<Frames>(index_t{4001}); }, 2000},
        {"online_pca_threads", [] { return run_of<Frames>(index_t{1100000}); }, 4}};
    for (const flow::Setup& setup : flow::all_setups()) {
        const flow::Parameters parameters = setup.parameters();
        cases.push_back({"flow_" + flow::name_of(setup),
                         [parameters] { return run_of<ImagePair>(parameters); }});
    }
    for (const flow::Case& c : flow::one_of_each()) {
        if (c.implementation == flow::Implementation::staged) continue;
        cases.push_back({"system_" + flow::name_of(c), [c] { return run_of<Unknowns>(c); }});
    }
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Cpu, SteadyState, testing::ValuesIn(all_cases()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace aperture
