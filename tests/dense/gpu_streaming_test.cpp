// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <random>
#include <stdexcept>
#include <vector>

#include "aperture/core/array.hpp"
#include "aperture/dense/batch_factor.hpp"
#include "aperture/dense/batch_streaming.hpp"
#include "libcore/allocated_bytes.hpp"
#include "libdense/batch_checks.hpp"
#include "tests/device_mirror.hpp"
#include "tests/same_bytes.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::dense {
namespace {

using core::index_t;
using C = std::complex<float>;
template <class T, int Rank>
using HostArray = core::Array<T, Rank, core::Host>;

class GpuStreaming : public tests::GpuTest {};

constexpr auto factor = [](core::Gpu& gpu, auto a, auto g, auto info) {
    factor_cholesky(gpu, a, g, info);
};

/// How a batch lies in an array of [first][second][third] elements.
struct Lying {
    Order order;
    bool has_gaps;
    core::Pages pages;

    core::Extents<3> memory(index_t problems, index_t n) const {
        const index_t gap = has_gaps ? 3 : 0;
        if (order == Order::problems) return {n, n, problems + gap};
        return {problems, n + gap, n + gap};
    }
    core::View<C, 3> batch(HostArray<C, 3>& array, index_t problems, index_t n) const {
        const auto [first, second, third] = array.extent();
        const core::Extents<3> extent{problems, n, n};
        switch (order) {
            case Order::problems:
                return {array.data(), extent, {1, second * third, third}};
            case Order::columns:
                return {array.data(), extent, {second * third, third, 1}};
            case Order::rows:
                break;
        }
        return {array.data(), extent, {second * third, 1, third}};
    }
};

/// Hermitian matrices of dominant diagonals; the last one of a few is not positive.
void fill(core::View<C, 3> batch) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    const auto [problems, n, columns] = batch.extent;
    for (index_t p = 0; p < problems; ++p) {
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < i; ++j) {
                batch(p, i, j) = {uniform(generator), uniform(generator)};
                batch(p, j, i) = std::conj(batch(p, i, j));
            }
            batch(p, i, i) = p % 97 == 96 && i == n / 2 ? -1.F : 2 * float(n) + uniform(generator);
        }
    }
}

/// Factors by one call on the whole batch and in pieces, and compares every byte, gaps included.
void expect_same_bits(const Lying& lying, index_t problems, index_t n, std::size_t device_bytes) {
    HostArray<C, 3> a(lying.memory(problems, n), lying.pages);
    HostArray<C, 3> whole(a.extent()), pieces(a.extent(), lying.pages);
    for (HostArray<C, 3>* array : {&a, &whole, &pieces}) {
        std::fill(array->begin(), array->end(), C(-7, 7));
    }
    const core::View<C, 3> matrices = lying.batch(a, problems, n);
    fill(matrices);
    HostArray<int, 1> info({problems}), its_info({problems}, lying.pages);
    core::Gpu gpu;
    {
        tests::DeviceMirror on(gpu, core::View<const C, 3>(matrices));
        tests::DeviceMirror g(gpu, lying.batch(whole, problems, n));
        tests::DeviceMirror infos(gpu, info.view());
        factor(gpu, on.view(), g.view(), infos.view());
        g.fetch();
        infos.fetch();
    }
    const std::uint64_t before = core::device_bytes_allocated();
    for_each_piece(gpu, device_bytes, factor, input(matrices),
                   output(lying.batch(pieces, problems, n)), output(its_info.view()));
    EXPECT_LE(core::device_bytes_allocated() - before, device_bytes);
    EXPECT_TRUE(tests::same_bytes(info, its_info));
    for (index_t p = 0; p < problems; ++p) {
        if (info(p) == 0) continue;
        // Its factor is unspecified.
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < n; ++j) {
                lying.batch(whole, problems, n)(p, i, j) = 0;
                lying.batch(pieces, problems, n)(p, i, j) = 0;
            }
        }
    }
    EXPECT_TRUE(tests::same_bytes(whole, pieces));
    EXPECT_EQ(info(96), n / 2 + 1);
}

TEST_F(GpuStreaming, GivesTheBitsOfOneCall) {
    const index_t problems = tests::small_shapes() ? 500 : 9375;
    for (const core::Pages pages : {core::Pages::pageable, core::Pages::locked}) {
        SCOPED_TRACE(pages == core::Pages::locked);
        expect_same_bits({Order::columns, false, pages}, problems, 48,
                         tests::small_shapes() ? 2 << 20 : 32 << 20);
    }
}

TEST_F(GpuStreaming, GivesTheBitsOfOneCallInEveryLayout) {
    for (const core::Pages pages : {core::Pages::pageable, core::Pages::locked}) {
        for (const Order order : {Order::columns, Order::problems, Order::rows}) {
            for (const bool has_gaps : {false, true}) {
                for (const index_t n : {7, 40}) {
                    SCOPED_TRACE(testing::Message() << (pages == core::Pages::locked) << " "
                                                    << int(order) << " " << has_gaps << " " << n);
                    expect_same_bits({order, has_gaps, pages}, 331, n,
                                     static_cast<std::size_t>(2 * 8 * n * n * 150));
                }
            }
        }
    }
}

TEST_F(GpuStreaming, RunsSeveralFunctionsOnAPiece) {
    constexpr index_t problems = 500, n = 12;
    HostArray<C, 3> a({problems, n, n}), x({problems, 2, n}), pieces(x.extent());
    fill(a.view());
    std::fill(x.begin(), x.end(), C(1, 2));
    std::fill(pieces.begin(), pieces.end(), C(1, 2));
    core::Gpu gpu;
    {
        tests::DeviceMirror on(gpu, core::View<const C, 3>(a.view()));
        core::Array<C, 3, core::Device> g(a.extent());
        core::Array<int, 1, core::Device> info({problems});
        tests::DeviceMirror sides(gpu, x.view());
        factor(gpu, on.view(), g.view(), info.view());
        substitute_cholesky<C>(gpu, g.view(), sides.view());
        sides.fetch();
    }
    for_each_piece(
        gpu, 500000,
        [](core::Gpu& on, auto matrices, auto g, auto info, auto sides) {
            factor(on, matrices, g, info);
            substitute_cholesky<C>(on, g, sides);
        },
        input(a.view()), temporary<C>(a.extent()), temporary<int>(core::Extents<1>{problems}),
        in_place(pieces.view()));
    EXPECT_TRUE(tests::same_bytes(x, pieces));
}

TEST_F(GpuStreaming, EndsWhenTheFunctionOrACheckpointThrows) {
    constexpr index_t problems = 4000, n = 16;
    core::Gpu gpu;
    for (const core::Pages pages : {core::Pages::pageable, core::Pages::locked}) {
        HostArray<C, 3> a({problems, n, n}, pages), g(a.extent(), pages);
        HostArray<int, 1> info({problems}, pages);
        fill(a.view());
        int calls = 0;
        const auto failing = [&](core::Gpu& on, auto matrices, auto factors, auto its_info) {
            factor(on, matrices, factors, its_info);
            if (++calls == 5) throw std::runtime_error("enough");
        };
        EXPECT_THROW(for_each_piece(gpu, 1 << 20, failing, input(a.view()), output(g.view()),
                                    output(info.view())),
                     std::runtime_error);
        int checks = 0;
        gpu.set_checkpoint([&] {
            if (++checks == 3) throw std::logic_error("stop");
        });
        EXPECT_THROW(for_each_piece(gpu, 1 << 20, factor, input(a.view()), output(g.view()),
                                    output(info.view())),
                     std::logic_error);
        gpu.set_checkpoint(nullptr);
    }
    gpu.synchronize();
}

TEST_F(GpuStreaming, RefusesTooFewBytesAndAcceptsNoProblems) {
    core::Gpu gpu;
    HostArray<C, 3> a({3, 10, 10}), g(a.extent());
    HostArray<int, 1> info({3});
    EXPECT_THROW(
        for_each_piece(gpu, 1603, factor, input(a.view()), output(g.view()), output(info.view())),
        core::InvalidArgument);
    fill(a.view());
    for_each_piece(gpu, 1604, factor, input(a.view()), output(g.view()), output(info.view()));
    EXPECT_EQ(info(2), 0);
    HostArray<C, 3> none({0, 10, 10});
    HostArray<int, 1> no_info({0});
    for_each_piece(gpu, 0, factor, input(none.view()), output(none.view()), output(no_info.view()));
}

}  // namespace
}  // namespace aperture::dense
