// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <complex>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aperture/dense/batch_factor.hpp"
#include "libcore/gpu/device_cast.hpp"
#include "libcore/gpu/launch.cuh"
#include "libdense/gpu/batch_streaming.hpp"
#include "tests/dense/host_batch.hpp"
#include "tests/dense/matrix_zoo.hpp"

namespace aperture::dense::oracle {
namespace {

using core::index_t;
using detail::PiecePlan;
using detail::StreamedBytes;
using C = std::complex<float>;

/// An executor as slow as one can be: nothing that is submitted happens before somebody waits.
struct Slow {
    using Space = core::Host;

    explicit Slow(bool has_locked_pages = false) : locked(has_locked_pages) {}

    bool locked;
    bool fails = false;
    std::string* log = nullptr;
    char name = 'a';
    std::vector<std::function<void()>> submitted;
    std::vector<core::RunCopy> copies;

    void synchronize() {
        if (log != nullptr) *log += std::string("wait-") + name + ' ';
        finish();
        if (fails) throw core::DeviceError("a fault");
    }
    void finish() noexcept {
        for (const auto& work : submitted) work();
        submitted.clear();
    }
};
void copy_runs(Slow& executor, const core::RunCopy& copy) {
    executor.copies.push_back(copy);
    executor.submitted.emplace_back([copy] { core::copy_runs(copy); });
}
bool has_locked_pages(Slow& executor, const void*, std::size_t) { return executor.locked; }

template <class Function, class... Operands>
void stream(std::vector<Slow>& executors, const PiecePlan& plan, const Function& function,
            const Operands&... operands) {
    std::vector<Slow*> pointers;
    for (Slow& executor : executors) pointers.push_back(&executor);
    const std::array bytes{detail::bytes_of(operands)...};
    detail::run_in_pieces<Slow>(pointers, bytes, plan,
                                detail::piece_function<Slow>(function, operands...));
}

/// Submits a function of libdense, with a CPU in place of the GPU.
constexpr auto submit_factor_cholesky = [](Slow& executor, auto a, auto g, auto info) {
    executor.submitted.emplace_back([=] {
        core::Cpu cpu(1);
        factor_cholesky(cpu, a, g, info);
    });
};

HostBatch<C> positive_batch(index_t problems, index_t n, Order layout, index_t gap) {
    std::mt19937 generator(5);
    HostBatch<C> batch(problems, n, n, layout, gap);
    for (index_t p = 0; p < problems; ++p) {
        batch.set(p, with_spectrum<C>(geometric(static_cast<int>(n), 100), generator));
    }
    return batch;
}

core::View<int, 1> view_of(std::vector<int>& values) {
    return {values.data(), {static_cast<index_t>(values.size())}};
}

TEST(Streaming, GivesTheBitsOfOneCallInEveryLayout) {
    constexpr index_t problems = 23, n = 5;
    for (const Order layout : layouts) {
        for (const index_t gap : {0, 3}) {
            const HostBatch<C> a = positive_batch(problems, n, layout, gap);
            HostBatch<C> whole(problems, n, n, layout, gap);
            std::vector<int> info(problems, -1);
            core::Cpu cpu(1);
            factor_cholesky(cpu, a.view(), whole.view(), view_of(info));
            for (const bool locked : {false, true}) {
                for (const PiecePlan plan : {PiecePlan{1, 1}, {4, 3}, {22, 2}, {23, 1}}) {
                    SCOPED_TRACE(testing::Message() << int(layout) << " " << gap << " " << locked
                                                    << " " << plan.problems);
                    std::vector<Slow> executors(std::size_t(plan.in_flight), Slow{locked});
                    HostBatch<C> pieces(problems, n, n, layout, gap);
                    std::vector<int> its_info(problems, -1);
                    stream(executors, plan, submit_factor_cholesky, input(a.view()),
                           output(pieces.view()), output(view_of(its_info)));
                    EXPECT_TRUE(whole.same_bits(pieces));
                    EXPECT_EQ(info, its_info);
                }
            }
        }
    }
}

TEST(Streaming, KeepsWhatIsBetweenTwoFunctionsOnTheDevice) {
    constexpr index_t problems = 9, n = 4;
    const HostBatch<C> a = positive_batch(problems, n, Order::columns, 0);
    std::mt19937 generator(6);
    HostBatch<C> whole(problems, 2, n, Order::columns, 1);
    for (index_t p = 0; p < problems; ++p) whole.set(p, random_matrix<C>(2, n, generator));
    HostBatch<C> pieces = whole;
    HostBatch<C> g(problems, n, n);
    std::vector<int> info(problems, -1);
    core::Cpu one(1);
    factor_cholesky(one, a.view(), g.view(), view_of(info));
    substitute_cholesky<C>(one, g.view(), whole.view());

    std::vector<Slow> executors(2);
    stream(
        executors, {4, 2},
        [](Slow& executor, auto matrices, auto factors, auto x, auto its_info) {
            executor.submitted.emplace_back([=] {
                core::Cpu cpu(1);
                factor_cholesky(cpu, matrices, factors, its_info);
                substitute_cholesky<C>(cpu, factors, x);
            });
        },
        input(a.view()), temporary<C>(core::Extents<3>{problems, n, n}), in_place(pieces.view()),
        temporary<int>(core::Extents<1>{problems}));
    EXPECT_TRUE(whole.same_bits(pieces));
}

TEST(Streaming, AnOutputMayBeTheViewOfAnInput) {
    HostBatch<C> a = positive_batch(11, 4, Order::problems, 2);
    HostBatch<C> whole = a;
    std::vector<int> info(11, -1);
    core::Cpu cpu(1);
    factor_cholesky<C>(cpu, whole.view(), whole.view(), view_of(info));
    std::vector<Slow> executors(3, Slow{true});
    stream(executors, {2, 3}, submit_factor_cholesky, input(a.view()), output(a.view()),
           output(view_of(info)));
    EXPECT_TRUE(whole.same_bits(a));
}

TEST(Streaming, WaitsForAPieceOnlyWhenItsPlaceIsNeeded) {
    std::string log;
    std::vector<Slow> executors(3);
    for (std::size_t i = 0; i < 3; ++i) {
        executors[i].log = &log;
        executors[i].name = static_cast<char>('a' + i);
    }
    std::vector<int> values(10, 0);
    const auto function = [&](Slow& executor, core::View<int, 1> piece) {
        log += std::string("start-") + executor.name + std::to_string(piece.extent[0]) + ' ';
    };
    // Memory is allocated before anything is in flight.
    stream(executors, {2, 3}, function, output(view_of(values)));
    log = log.substr(log.find("start"));
    EXPECT_EQ(log,
              "start-a2 start-b2 start-c2 wait-a start-a2 wait-b start-b2 wait-c wait-a wait-b ");
}

TEST(Streaming, CopiesLockedMemoryDirectlyWhereItIsBlocks) {
    const auto is_direct = [](Order layout, index_t gap, index_t of_a_piece, bool locked = true) {
        HostBatch<C> batch(100, 4, 4, layout, gap);
        std::vector<Slow> executors(1, Slow{locked});
        const auto nothing = [](Slow&, auto) {};
        stream(executors, {of_a_piece, 1}, nothing, input(batch.view()));
        return executors[0].copies[0].from == reinterpret_cast<std::byte*>(batch.view().data);
    };
    EXPECT_TRUE(is_direct(Order::columns, 0, 8));
    EXPECT_FALSE(is_direct(Order::columns, 0, 8, false));
    EXPECT_FALSE(is_direct(Order::columns, 1, 8));    // runs of a row
    EXPECT_TRUE(is_direct(Order::problems, 0, 64));   // runs of 512 bytes
    EXPECT_FALSE(is_direct(Order::problems, 0, 63));  // of 504 bytes
    EXPECT_FALSE(is_direct(Order::problems, 1, 64));  // at two distances
}

TEST(Streaming, PiecesHaveTheLayoutOfTheirOperandWithoutGaps) {
    const auto last_strides = [](Order layout) {
        HostBatch<C> batch(7, 4, 5, layout, 3);
        core::Extents<3> strides{};
        std::vector<Slow> executors(1);
        const auto function = [&](Slow&, const core::View<const C, 3>& piece) {
            strides = piece.stride;
        };
        // The last piece is a single problem.
        stream(executors, {3, 1}, function, input(batch.view()));
        return strides;
    };
    EXPECT_EQ(last_strides(Order::columns), (core::Extents<3>{20, 5, 1}));
    EXPECT_EQ(last_strides(Order::rows), (core::Extents<3>{20, 1, 4}));
    EXPECT_EQ(last_strides(Order::problems), (core::Extents<3>{1, 15, 3}));
}

TEST(Streaming, EndsWhatWasSubmittedBeforeAnExceptionLeaves) {
    for (const int last : {0, 1, 4}) {
        std::vector<Slow> executors(3, Slow{true});
        {
            std::vector<int> values(12, 7), results(12, 0);
            int calls = 0;
            const auto function = [&](Slow& executor, core::View<const int, 1> from,
                                      core::View<int, 1> to) {
                executor.submitted.emplace_back([=] { core::copy_runs(core::RunCopy(from, to)); });
                if (calls++ == last) throw core::DeviceError("enough");
            };
            EXPECT_THROW(stream(executors, {2, 3}, function, input(view_of(values)),
                                output(view_of(results))),
                         core::DeviceError);
            EXPECT_EQ(calls, last + 1);
        }
        for (const Slow& executor : executors) EXPECT_TRUE(executor.submitted.empty());
    }
}

TEST(Streaming, EndsWhatWasSubmittedWhenAWaitFails) {
    std::vector<Slow> executors(3, Slow{true});
    {
        std::vector<int> values(12, 7), results(12, 0);
        int calls = 0;
        const auto function = [&](Slow& executor, core::View<const int, 1> from,
                                  core::View<int, 1> to) {
            executor.submitted.emplace_back([=] { core::copy_runs(core::RunCopy(from, to)); });
            if (++calls == 4) executors[1].fails = true;
        };
        EXPECT_THROW(
            stream(executors, {1, 3}, function, input(view_of(values)), output(view_of(results))),
            core::DeviceError);
        EXPECT_EQ(calls, 4);
    }
    for (const Slow& executor : executors) EXPECT_TRUE(executor.submitted.empty());
}

__global__ void negate_kernel(core::KernelView<const int, 2> from, core::KernelView<int, 2> to) {
    for (index_t i = threadIdx.x; i < from.extent[1]; i += blockDim.x) {
        to(blockIdx.x, i) = -from(blockIdx.x, i);
    }
}

TEST(Streaming, RunsKernels) {
    constexpr index_t problems = 17, n = 40;
    core::Array<int, 2> values({problems, n}), results({problems, n});
    std::iota(values.begin(), values.end(), 0);
    core::Simt first, second;
    const std::array executors{&first, &second};
    const auto function = [](core::Simt& simt, core::View<const int, 2> from,
                             core::View<int, 2> to) {
        core::launch(simt, &negate_kernel,
                     core::LaunchConfig(dim3(core::blocks_for(from.extent[0], 1)), dim3(32)),
                     core::kernel_view(from), core::kernel_view(to));
    };
    const auto from = input(values.view());
    const auto to = output(results.view());
    detail::run_in_pieces<core::Simt>(
        executors, std::array{detail::bytes_of(from), detail::bytes_of(to)}, {5, 2},
        detail::piece_function<core::Simt>(function, from, to));
    for (index_t i = 0; i < problems * n; ++i) EXPECT_EQ(results.data()[i], -i);
}

StreamedBytes bytes(index_t problems, index_t each) {
    return {{nullptr, {problems, each, 1, 1}}, true, true};
}

TEST(StreamingPlan, NeverNeedsMoreThanIsAllowed) {
    for (const index_t problems : {1, 2, 31, 33, 1000, 1000000}) {
        for (const index_t each : {1, 7, 4096, 18432, 1000000}) {
            for (const index_t allowed : {1LL, 2LL, 5LL, 40LL, 1000LL, 1LL << 22}) {
                const std::array operands{bytes(problems, each), bytes(problems, 4)};
                const std::size_t room = std::size_t(allowed * (each + 4));
                const PiecePlan plan = detail::plan_pieces(operands, {room});
                EXPECT_GE(plan.problems, 1);
                EXPECT_GE(plan.in_flight, 1);
                EXPECT_LE(plan.in_flight, 3);
                EXPECT_LE(plan.problems * plan.in_flight, allowed);
                EXPECT_LE(plan.problems, problems);
                EXPECT_LT((plan.in_flight - 1) * plan.problems, problems);
                if (plan.problems > 32 && plan.problems < problems) {
                    EXPECT_EQ(plan.problems % 32, 0);
                }
            }
        }
    }
}

TEST(StreamingPlan, HasManyPiecesOfALargeBatch) {
    const std::array operands{bytes(600000, 18432), bytes(600000, 18432)};
    const PiecePlan plan = detail::plan_pieces(operands, {std::size_t(2) << 30});
    EXPECT_EQ(plan.in_flight, 3);
    EXPECT_EQ(plan.problems, 896);
}

TEST(StreamingPlan, MakesRunsOfLockedInterleavedBatchesLong) {
    const auto long_runs = [](Order layout, bool locked) {
        HostBatch<C> batch(100, 4, 4, layout);
        Slow executor(locked);
        return detail::problems_of_long_runs(executor, detail::bytes_of(input(batch.view())));
    };
    EXPECT_EQ(long_runs(Order::problems, true), 4096);
    EXPECT_EQ(long_runs(Order::problems, false), 1);
    EXPECT_EQ(long_runs(Order::columns, true), 1);
    Slow executor(true);
    const auto between = temporary<C>(core::Extents<3>{100, 1, 4});
    EXPECT_EQ(detail::problems_of_long_runs(executor, detail::bytes_of(between)), 1);

    const std::array operands{bytes(75000, 18432), bytes(75000, 18432)};
    const std::size_t room = std::size_t(2) << 30;
    EXPECT_EQ(detail::plan_pieces(operands, {room}, 2048).problems, 2048);
    EXPECT_EQ(detail::plan_pieces(operands, {room / 16}, 2048).problems, 1184);
    const std::array few{bytes(8000, 18432), bytes(8000, 18432)};
    EXPECT_EQ(detail::plan_pieces(few, {room}, 2048).problems, 992);
}

TEST(StreamingPlan, RefusesWhatDoesNotFitAndWhatIsNotOneBatch) {
    using testing::HasSubstr;
    using testing::ThrowsMessage;
    const std::array one{bytes(3, 100)};
    EXPECT_THAT([&] { detail::plan_pieces(one, {99}); },
                ThrowsMessage<core::InvalidArgument>(
                    "99 bytes of device memory are too few; one problem requires 100"));
    EXPECT_THROW(detail::plan_pieces(one, {99, false}), core::UnfitDevice);
    const std::array two{bytes(3, 1), bytes(4, 1)};
    EXPECT_THAT([&] { detail::plan_pieces(two, {99}); },
                ThrowsMessage<core::InvalidArgument>(
                    HasSubstr("operand 1 holds 4 problems, operand 0 holds 3")));
    const std::array none{bytes(0, 100)};
    EXPECT_EQ(detail::plan_pieces(none, {1000}).problems, 0);
}

}  // namespace
}  // namespace aperture::dense::oracle
