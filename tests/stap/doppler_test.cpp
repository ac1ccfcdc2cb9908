// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "aperture/stap/stages.hpp"
#include "tests/same_bytes.hpp"
#include "tests/stap/oracle.hpp"
#include "tests/stap/random_input.hpp"

namespace aperture::stap {
namespace {

using core::Cpu;
using core::Host;
using tests::same_bytes;

struct DopplerCase {
    index_t channels, pulses, range_cells;
    int doppler_bins;
    const char* taper;
};

void PrintTo(const DopplerCase& c, std::ostream* stream) {
    *stream << c.channels << "x" << c.pulses << "x" << c.range_cells << " to " << c.doppler_bins
            << " bins, taper " << c.taper;
}

Problem problem_of(const DopplerCase& c) {
    Parameters parameters;
    parameters.doppler_bins = c.doppler_bins;
    parameters.taper = signal::parse_taper(c.taper);
    parameters.temporal_taps = 1;
    parameters.training_block = 1;
    parameters.loading.value = 1;
    return make_problem({c.channels, c.pulses, c.range_cells, Domain::pulse}, parameters, 1);
}

class Doppler : public testing::TestWithParam<DopplerCase> {};

TEST_P(Doppler, AgreesWithTheSum) {
    const DopplerCase& c = GetParam();
    const Problem problem = problem_of(c);
    const auto pulses = random_normal<3>({c.channels, c.pulses, c.range_cells}, 1);
    core::Array<cfloat, 3> cube({c.channels, problem.doppler_bins, c.range_cells});
    Cpu cpu;
    DopplerFilter<Cpu>(cpu, problem).run(pulses, cube);
    const oracle::Cube expected =
        oracle::doppler(pulses, signal::taper_weights(problem.parameters.taper, int(c.pulses)),
                        problem.doppler_bins);
    oracle::SnrDb snr;
    for (index_t i = 0; i < expected.size(); ++i)
        snr.add(expected.data()[i], oracle::Complex(cube.data()[i]));
    EXPECT_GT(snr.value(), 130);
}

INSTANTIATE_TEST_SUITE_P(Stap, Doppler,
                         testing::Values(DopplerCase{1, 1, 1, 1, "none"},
                                         DopplerCase{2, 5, 15, 5, "none"},
                                         DopplerCase{2, 16, 16, 16, "hann"},
                                         DopplerCase{3, 7, 17, 13, "hamming"},
                                         DopplerCase{1, 100, 33, 128, "chebyshev:60"},
                                         DopplerCase{6, 128, 97, 256, "none"}));

TEST(DopplerFilter, StridedPulsesAndAnyThreadsGiveTheSameBits) {
    const Problem problem = problem_of({3, 10, 50, 16, "hann"});
    const auto dense = random_normal<3>({3, 10, 50}, 1);
    auto wide = random_normal<3>({4, 20, 64}, 2);
    core::View<cfloat, 3, Host> strided = wide.view().slice(0, 1, 4).slice(2, 7, 57);
    strided.extent[1] = 10;
    strided.stride[1] *= 2;
    for (index_t c = 0; c < 3; ++c)
        for (index_t p = 0; p < 10; ++p)
            for (index_t r = 0; r < 50; ++r) strided(c, p, r) = dense(c, p, r);
    core::Array<cfloat, 3> expected({3, 16, 50});
    Cpu one(1);
    DopplerFilter<Cpu>(one, problem).run(dense, expected);
    for (int threads : {1, 2, 5}) {
        Cpu cpu(threads);
        core::Array<cfloat, 3> cube({3, 16, 50});
        DopplerFilter<Cpu>(cpu, problem).run(strided, cube);
        EXPECT_TRUE(same_bytes(cube, expected)) << threads << " threads";
    }
}

TEST(DopplerFilter, RefusesWhatItCannotDo) {
    Cpu cpu;
    Problem problem = problem_of({2, 4, 8, 4, "none"});
    core::Array<cfloat, 3> cube({2, 4, 8});
    const core::Array<cfloat, 3> pulses({2, 5, 8});
    EXPECT_THROW(DopplerFilter<Cpu>(cpu, problem).run(pulses, cube), core::InvalidArgument);
    problem.shape.domain = Domain::doppler;
    EXPECT_THROW(DopplerFilter<Cpu>(cpu, problem), core::InvalidArgument);
}

}  // namespace
}  // namespace aperture::stap
