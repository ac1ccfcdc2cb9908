// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/gpu/tall_qr.cuh"
#include "tests/dense/tall_qr_suite.hpp"

namespace aperture::dense::oracle {
namespace {

/// Configurations: trees of small blocks, which are deep and whose leaves absorb several blocks;
/// trees of the library's blocks; the library's choice for 163 and 99 KiB of shared memory a block.
enum class Runs { small_trees, trees, sm_80, sm_86 };

/// Trees of blocks of so many groups, whatever the library would choose.
template <int groups>
struct SimtOf : core::Simt {
    using core::Simt::Simt;
    static constexpr int tree_groups = groups;
};
template <Runs runs>
using SimtFor = std::conditional_t<
    runs == Runs::small_trees, SimtOf<3>,
    std::conditional_t<runs == Runs::trees, SimtOf<tuning::large_tall_groups>, core::Simt>>;

template <core::LaneOrder order, Runs runs>
struct SimtRunner : HostTallRunner<SimtFor<runs>> {
    SimtRunner() : HostTallRunner<SimtFor<runs>>{SimtFor<runs>(order, 5)} {
        if (runs == Runs::sm_80) this->executor.device = {80, 163 * 1024};
        if (runs == Runs::sm_86) this->executor.device = {86, 99 * 1024};
    }

    static index_t tall() { return 530; }

    static std::vector<QrMethod> methods() {
        if (runs == Runs::trees) return {QrMethod::tsqr};
        return {QrMethod::tsqr, QrMethod::cholesky2};
    }
    static std::vector<std::pair<int, int>> sizes() {
        switch (runs) {
            case Runs::small_trees:
                return {{1, 1},   {2, 1},   {8, 8},    {31, 17}, {32, 32},   {33, 33},  {96, 16},
                        {97, 16}, {65, 64}, {129, 17}, {290, 5}, {1500, 33}, {3100, 65}};
            case Runs::trees:
                return {{7, 3}, {352, 16}, {353, 33}, {4100, 40}};
            default:
                return {{33, 33}, {97, 16}, {290, 5}, {1500, 33}};
        }
    }
};

using SmallTrees = SimtRunner<core::LaneOrder::random, Runs::small_trees>;
using Trees = SimtRunner<core::LaneOrder::reverse, Runs::trees>;
using Sm80 = SimtRunner<core::LaneOrder::reverse, Runs::sm_80>;
using Sm86 = SimtRunner<core::LaneOrder::random, Runs::sm_86>;
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSmallTrees, TallQrSuite, SmallTrees);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtTrees, TallQrSuite, Trees);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSm80, TallQrSuite, Sm80);
INSTANTIATE_TYPED_TEST_SUITE_P(SimtSm86, TallQrSuite, Sm86);

/// Expects a tree of the largest blocks that fit in the device's shared memory.
template <class T, int Groups>
void expect_groups(int shared_bytes, index_t rows) {
    core::Simt simt;
    simt.device.shared_memory_per_block = shared_bytes;
    const auto tree = gpu::make_tree<T>(simt, rows, 3);
    using Expected = gpu::TreeQr<T, core::Simt, Groups>;
    EXPECT_NE(dynamic_cast<const Expected*>(tree.get()), nullptr) << shared_bytes << ' ' << rows;
}

TEST(SimtTreeQr, TakesBlocksThatADeviceHasRoomFor) {
    constexpr index_t many = tuning::large_tall_rows;
    expect_groups<float, 11>(227 * 1024, many);
    expect_groups<float, 11>(163 * 1024, many);
    expect_groups<float, 7>(99 * 1024, many);
    expect_groups<float, 7>(99 * 1024, 1000);
    expect_groups<double, 11>(227 * 1024, many);
    expect_groups<double, 7>(163 * 1024, many);
    expect_groups<double, 4>(99 * 1024, many);
    expect_groups<double, 4>(99 * 1024, 1000);
}

TEST(SimtGram, HasTheSameSumsOnSmallDevices) {
    const auto gram = [](int shared_bytes, auto number) {
        using T = decltype(number);
        core::Simt simt;
        simt.device.shared_memory_per_block = shared_bytes;
        const Array<T, 2> a = matrix_of<T>({300, 130, Content::random});
        Array<T, 2> columns({130, 320});
        for (index_t i = 0; i < 300; ++i) {
            for (index_t j = 0; j < 130; ++j) columns(j, i) = a(i, j);
        }
        Array<double, 2> sums({130, 130});
        gpu::ColumnProducts<T, core::Simt>(simt).find_gram({columns.data(), {300, 130}, {1, 320}},
                                                           core::kernel_view(sums.view()));
        return sums;
    };
    const auto expect_same = [&](auto number) {
        const auto whole = gram(227 * 1024, number);
        for (const int shared_bytes : {163 * 1024, 99 * 1024}) {
            const auto small = gram(shared_bytes, number);
            for (index_t i = 0; i < whole.size(); ++i) {
                ASSERT_NEAR(small.data()[i], whole.data()[i], 1e-14 * 300) << i;
            }
        }
    };
    expect_same(1.0F);
    expect_same(1.0);
}

/// 200 columns span three sides of the Gram matrix's blocks, 96 columns fill one.
TEST(SimtCholeskyQr, FactorsManyColumns) {
    core::Simt simt(core::LaneOrder::reverse, 5);
    for (const index_t columns : {index_t{200}, index_t{96}}) {
        const Array<float, 2> a = matrix_of<float>({330, columns, Content::random});
        TallQr<float, core::Simt> qr(simt, QrMethod::cholesky2, 330, columns);
        Array<float, 2> r({columns, columns}), q({330, columns}), unit({columns, columns});
        qr.factor(a.view(), r);
        EXPECT_FALSE(qr.fell_back());
        qr.form_q(q);
        EXPECT_LE(residual_ratio<float>(a.view(), q.view(), r.view()), ratio_limit);
        EXPECT_LE(orthogonality_ratio<float>(q.view()), ratio_limit);
        qr.apply_q_transposed(q.view(), unit);
        for (index_t i = 0; i < columns; ++i) {
            for (index_t j = 0; j < columns; ++j) ASSERT_NEAR(unit(i, j), i == j ? 1 : 0, 1e-5);
        }
    }
}

}  // namespace
}  // namespace aperture::dense::oracle
