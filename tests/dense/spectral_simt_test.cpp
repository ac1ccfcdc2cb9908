// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/batch_spectral.cuh"
#include "tests/dense/spectral_suite.hpp"

namespace aperture::dense::oracle {

using OnSimt = HostRunner<core::Simt, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simt, SpectralSuite, AllCombinations<OnSimt>);

namespace {

using T = std::complex<float>;

struct Decompositions {
    HostBatch<T> vectors, u, v;
    HostBatch<float> values, lengths;

    /// Of Hermitian matrices of which some have zero columns. `a` of m x n, m >= n.
    Decompositions(core::Simt& simt, const HostBatch<T>& a)
        : vectors(a.view().extent[0], order(a), order(a)),
          u(a.view().extent[0], a.view().extent[1], order(a)),
          v(vectors),
          values(a.view().extent[0], 1, order(a)),
          lengths(values) {
        const core::index_t problems = a.view().extent[0];
        std::vector<int> info(std::size_t(problems), -99);
        const core::View<int, 1, core::Host> its_info(info.data(), {problems});
        const auto row = [&](HostBatch<float>& batch) {
            return VectorBatch<float, core::Host>{batch.view().data, {problems, order(a)}};
        };
        launch_eigen_hermitian<core::Simt, T>(simt, a.view().slice(1, 0, order(a)), row(values),
                                              vectors.view(), its_info);
        EXPECT_EQ(std::count(info.begin(), info.end(), 0), problems);
        launch_svd<core::Simt, T>(simt, a.view(), u.view(), row(lengths), v.view(), its_info);
        EXPECT_EQ(std::count(info.begin(), info.end(), 0), problems);
    }
    static core::index_t order(const HostBatch<T>& a) { return a.view().extent[2]; }

    bool same_bits(const Decompositions& other) const {
        return vectors.same_bits(other.vectors) && u.same_bits(other.u) && v.same_bits(other.v) &&
               values.same_bits(other.values) && lengths.same_bits(other.lengths);
    }
};

/// Of 9 problems, teams have parts of warps up to 16 x 16.
HostBatch<T> some_matrices(int m, int n) {
    std::mt19937 generator(unsigned(m * n));
    HostBatch<T> a(9, m, n);
    for (core::index_t p = 0; p < 9; ++p) {
        Matrix matrix = random_matrix<T>(m, n, generator);
        for (core::index_t j = 0; j < p / 3 && j < n; ++j) matrix.col(j).setZero();
        a.set(p, matrix);
    }
    return a;
}

TEST(SimtSpectral, SameBitsInAnyLaneOrder) {
    for (auto [m, n] : {std::pair{1, 1}, {4, 3}, {8, 8}, {13, 10}, {30, 17}}) {
        SCOPED_TRACE(::testing::Message() << m << " x " << n);
        const HostBatch<T> a = some_matrices(m, n);
        core::Simt forward;
        const Decompositions expected(forward, a);
        core::Simt reverse(core::LaneOrder::reverse), random(core::LaneOrder::random, 3);
        EXPECT_TRUE(Decompositions(reverse, a).same_bits(expected));
        EXPECT_TRUE(Decompositions(random, a).same_bits(expected));
    }
}

TEST(SimtSpectral, SameBitsInScratchMemory) {
    const HostBatch<T> a = some_matrices(40, 20);
    core::Simt large, small(core::LaneOrder::random, 5);
    large.device.shared_memory_per_block = 227 * 1024;
    small.device.shared_memory_per_block = 12 * 1024;
    // Blocks have several problems, one after another.
    small.device.multiprocessors = 2;
    EXPECT_TRUE(Decompositions(small, a).same_bits(Decompositions(large, a)));
}

TEST(SimtSpectral, SameBitsInPieces) {
    const int n = 10;
    const HostBatch<T> a = some_matrices(n, n);
    core::Simt simt;
    const Decompositions whole(simt, a);
    HostBatch<T> vectors(9, n, n);
    HostBatch<float> values(9, 1, n);
    std::vector<int> info(9, -99);
    using E = core::DeviceType<T>;
    detail::eigen<E>(simt, core::kernel_view(a.view()),
                     core::kernel_view(VectorBatch<float, core::Host>{values.view().data, {9, n}}),
                     core::kernel_view(vectors.view()),
                     core::kernel_view(core::View<int, 1, core::Host>(info.data(), {9})), 20'000);
    EXPECT_TRUE(vectors.same_bits(whole.vectors) && values.same_bits(whole.values));
    EXPECT_EQ(info, std::vector<int>(9, 0));
}

}  // namespace
}  // namespace aperture::dense::oracle
