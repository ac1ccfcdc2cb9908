// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/corr/estimator_suite.hpp"

namespace aperture::corr {
namespace {

struct CpuEstimators {
    using Executor = core::Cpu;
    static constexpr bool slow = false;
    core::Cpu cpu{2};

    static std::string why_not() { return {}; }
    core::Cpu& executor() { return cpu; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, EstimatorSuite, CpuEstimators);

TEST(Estimators, RefuseOtherShapes) {
    core::Cpu cpu(1);
    const Problem problem{1, {5, 6}, {2, 3}, Method::direct, true};
    SurfaceEstimator<core::Cpu> estimator(cpu, problem, Estimator::pearson);
    const Planes a = normal_planes(1, {5, 6}, 1, 0);
    const Mask narrow({5, 5});
    Surfaces results;
    EXPECT_THROW(estimator.run(a, a, results.views()), core::InvalidArgument);
    results.reshape(problem);
    EXPECT_THROW(estimator.run(a, normal_planes(2, {5, 6}, 1, 0), results.views()),
                 core::InvalidArgument);
    EXPECT_THROW(estimator.run(a, a, narrow, narrow, results.views()), core::InvalidArgument);
    estimator.run(a, a, results.views());

    Problem images = problem;
    images.images = 2;
    EXPECT_THROW(SurfaceEstimator<core::Cpu>(cpu, images, Estimator::raw), core::InvalidArgument);
}

/// Planes of A and B in turn: two images of one buffer's first address and other strides.
TEST(Pearson, OfViewsOfOneBufferWithOtherStridesIsThatOfCopies) {
    const Shape shape{9, 11};
    const Planes planes = normal_planes(3, shape, 7, 0);
    const core::View<const float, 3, Host> all = planes;
    const core::View<const float, 3, Host> a = all.slice(0, 0, 2);
    const core::View<const float, 3, Host> b(all.data, a.extent,
                                             {2 * all.stride[0], all.stride[1], 1});
    Planes copy_of_b(a.extent);
    for (index_t p = 0; p < 2; ++p) {
        std::copy_n(&planes(2 * p, 0, 0), shape.rows * shape.columns, &copy_of_b(p, 0, 0));
    }
    core::Cpu cpu(2);
    const auto found = [&](PlanesView<Host> of_b) {
        const Surfaces results = surfaces_of(cpu, a, of_b, nullptr, nullptr, Estimator::pearson,
                                             Lags{4, 5, true}, Method::direct);
        return std::vector<double>(results.surface.begin(), results.surface.end());
    };
    EXPECT_EQ(found(b), found(copy_of_b));
}

}  // namespace
}  // namespace aperture::corr
