// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "aperture/stap/pipeline.hpp"
#include "tests/stap/owned_results.hpp"
#include "tests/stap/random_input.hpp"

namespace {
std::atomic<long> news = 0;
}

void* operator new(std::size_t bytes) {
    ++news;
    if (void* block = std::malloc(bytes)) return block;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    ++news;
    const auto align = static_cast<std::size_t>(alignment);
    if (void* block = std::aligned_alloc(align, (bytes + align - 1) / align * align)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace aperture::stap {
namespace {

struct SteadyCase {
    const char* name;
    Training training;
    Implementation implementation;
    Precision precision;
    Detector detector;
};

void PrintTo(const SteadyCase& c, std::ostream* stream) { *stream << c.name; }

class SteadyState : public testing::TestWithParam<SteadyCase> {};

TEST_P(SteadyState, SecondRunAllocatesNothing) {
    const SteadyCase& c = GetParam();
    Parameters parameters;
    parameters.training = c.training;
    parameters.implementation = c.implementation;
    parameters.precision = c.precision;
    parameters.detector = c.detector;
    parameters.training_block = 20;
    const Problem problem = make_problem({3, 12, 90, Domain::pulse}, parameters, 4);
    const auto cube = random_normal<3>({3, 12, 90}, 1);
    const auto steering = random_normal<2>({4, 9}, 2);
    OwnedResults results(problem);
    core::Cpu cpu;
    Pipeline<core::Cpu> pipeline(cpu, problem, steering);
    pipeline.run(cube, results.views(), nullptr);
    const auto arrays = core::host_allocations();
    const long before = news;
    pipeline.run(cube, results.views(), nullptr);
    EXPECT_EQ(news - before, 0);
    EXPECT_EQ(core::host_allocations(), arrays);
}

constexpr auto fp32 = Precision::fp32;
constexpr auto mixed = Precision::mixed;

INSTANTIATE_TEST_SUITE_P(
    Pipeline, SteadyState,
    testing::Values(
        SteadyCase{"fused", Training::block, Implementation::fused, fp32, Detector::amf},
        SteadyCase{"fused_mixed", Training::block, Implementation::fused, mixed, Detector::amf},
        SteadyCase{"staged", Training::block, Implementation::staged, fp32, Detector::amf},
        SteadyCase{"staged_mixed", Training::block, Implementation::staged, mixed, Detector::ace},
        SteadyCase{"staged_cfar", Training::block, Implementation::staged, fp32, Detector::cfar},
        SteadyCase{"sliding", Training::sliding, Implementation::fused, fp32, Detector::glrt},
        SteadyCase{"sliding_mixed", Training::sliding, Implementation::fused, mixed,
                   Detector::none},
        SteadyCase{"all", Training::all, Implementation::fused, fp32, Detector::amf}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace aperture::stap
