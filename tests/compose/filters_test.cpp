// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/signal/median.hpp"
#include "aperture/signal/resample.hpp"
#include "tests/compose/program_memory.hpp"
#include "tests/compose/refusal.hpp"
#include "tests/compose/run_on_gpu.hpp"
#include "tests/same_bytes.hpp"
#include "tests/usable_gpu.hpp"

namespace aperture::compose {
namespace {

using Image = core::Array<float, 2>;
using Sample = std::complex<float>;
using Samples = std::vector<Sample>;

void run(const std::string& text, const Arguments& arguments, const std::vector<Argument>& results,
         Tier tier = Tier::automatic, int threads = 2) {
    core::Cpu cpu(threads);
    Executable<core::Cpu>(cpu, plan(parse(text), Registry(), Fusion::thesis), tier)
        .run(cpu, arguments, results);
}

Argument whole(const Image& image) {
    return argument(image.data(), {image.extent()[0], image.extent()[1]});
}
Argument whole(Image& image) {
    return argument(image.data(), {image.extent()[0], image.extent()[1]});
}

TEST(ComposeFilters, AreThoseOfLibsignal) {
    const std::string text =
        "program p { input I: array f32[21, 30]; local m: array f32[21, 30];"
        "local b: array f32[21, 30]; local r: array f32[42, 55]; local d: array f32[11, 15];"
        "m = median<size = 3>(I); b = blur<sigma = 0.7>(m);"
        "r = resize<rows = 42, columns = 55, interpolation = bilinear>(b);"
        "d = downsample<rows = 11, columns = 15>(r); return m, b, r, d; }";
    std::mt19937 generator(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Image from({21, 30});
    for (float& pixel : from) pixel = uniform(generator);
    core::Cpu cpu(1);
    Image m({21, 30}), b({21, 30}), r({42, 55}), d({11, 15});
    signal::median_filter(cpu, from, 3, m);
    signal::gaussian_blur(cpu, m, 0.7F, b);
    signal::resize(cpu, b, signal::Interpolation::bilinear, r);
    signal::downsample(cpu, r, d);
    Image of_m({21, 30}), of_b({21, 30}), of_r({42, 55}), of_d({11, 15});
    run(text, {{"I", whole(std::as_const(from))}},
        {whole(of_m), whole(of_b), whole(of_r), whole(of_d)});
    EXPECT_TRUE(tests::same_bytes(m, of_m));
    EXPECT_TRUE(tests::same_bytes(b, of_b));
    EXPECT_TRUE(tests::same_bytes(r, of_r));
    EXPECT_TRUE(tests::same_bytes(d, of_d));
}

TEST(ComposeFilters, SayWhatIsWrong) {
    const auto message = [](const std::string& statement) {
        return refusal(
            "program p { input I: array f32[8, 9]; input d: array f64[8, 9];"
            "input none: array f32[0, 9]; input z: array c64[8, 9];"
            "input w: array c128[8, 9]; input e: array c64[8, 0];"
            "input B: batch c64[8, 9]; local y: array f32[8, 9];"
            "inout x: array c64[8, 9];" +
            statement + " return I; }");
    };
    const std::pair<const char*, const char*> cases[] = {
        {"y = median(I, I);", "median has 1 operand, not 2"},
        {"y = median(d);", "median of array f64[8, 9]; expected an array f32 of rank 2"},
        {"y = median<size = 4>(I);", "expected 3, 5 or 7"},
        {"y = median<size = 3.5>(I);", "expected an integer"},
        {"y = median<sigma = 3>(I);", "median has no attribute sigma"},
        {"y = blur<sigma = wide>(I);", "sigma is a number"},
        {"y = resize(I);", "needs attributes rows and columns"},
        {"y = resize<rows = 8, columns = 9>(none);", "resize of an image without pixels"},
        {"y = resize<rows = 8, columns = 9, interpolation = linear>(I);", "bilinear|bicubic"},
        {"y = median(I);", "nothing"},
        {"x = fft(I);", "fft of array f32[8, 9]; expected an array c64"},
        {"x = fft(w);", "expected an array c64"},
        {"x = fft(B);", "fft of batch c64[8, 9]"},
        {"x = fft(e);", "fft of array c64[8, 0]: expected rows of 1 to"},
        {"x = fft<length = 16>(z);", "fft has no attribute length"},
        {"x = fft(x);", "fft reads other entries of x"},
        {"y = fft(z);", "fft makes array c64[8, 9]"},
        {"x = fft(z);", "nothing"},
    };
    for (const auto& [statement, expected] : cases) {
        EXPECT_THAT(message(statement), testing::HasSubstr(expected)) << statement;
    }
}

Samples random_samples(index_t count) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Samples samples(static_cast<std::size_t>(count));
    for (Sample& sample : samples) sample = {uniform(generator), uniform(generator)};
    return samples;
}

/// The largest error of a row's transform, relative to the defining sum, in the Euclidean norm.
double error_of(const Samples& before, const Samples& after, std::size_t length) {
    using Exact = std::complex<long double>;
    std::vector<Exact> turns(length);
    for (std::size_t i = 0; i < length; ++i) {
        const auto part = static_cast<long double>(i) / static_cast<long double>(length);
        turns[i] = std::polar(1.0L, -2 * std::numbers::pi_v<long double> * part);
    }
    double worst = 0;
    for (std::size_t row = 0; row < before.size(); row += length) {
        long double error = 0, norm = 0;
        for (std::size_t k = 0; k < length; ++k) {
            Exact sum = 0;
            for (std::size_t p = 0; p < length; ++p) {
                sum += Exact(before[row + p]) * turns[k * p % length];
            }
            error += std::norm(Exact(after[row + k]) - sum);
            norm += std::norm(sum);
        }
        worst = std::max(worst, static_cast<double>(std::sqrt(error / norm)));
    }
    return worst;
}
/// That of a fast transform is proportional to its number of levels (Higham 2002, ch. 24).
double bound_of(std::size_t length) {
    return 0x1p-24 * 4 * (std::log2(static_cast<double>(length)) + 1);
}

std::string transform_of(const Type& type) {
    return "program p { input x: " + text_of(type) + "; local y: " + text_of(type) +
           "; y = fft(x); return y; }";
}

class ComposeFft : public testing::TestWithParam<index_t> {
  protected:
    /// A row, fewer than a tile, more than one, and volumes.
    static std::vector<std::vector<index_t>> extents() {
        const index_t length = GetParam();
        return {{length}, {1, length}, {15, length}, {17, length}, {3, 11, length}};
    }
};
INSTANTIATE_TEST_SUITE_P(Lengths, ComposeFft, testing::Values(1, 2, 3, 8, 60, 64, 97, 1000));

TEST_P(ComposeFft, IsTheDefiningSumOfEachRow) {
    for (const std::vector<index_t>& extents : extents()) {
        const Type type = array(Dtype::c64, extents);
        const Samples x = random_samples(type.size());
        Samples y(x.size());
        run(transform_of(type), {{"x", argument(x.data(), extents)}},
            {argument(y.data(), extents)});
        EXPECT_LT(error_of(x, y, std::size_t(GetParam())), bound_of(std::size_t(GetParam())))
            << text_of(type);
    }
}

TEST_P(ComposeFft, HasTheSameBitsForAllThreadsAndAlignments) {
    const std::vector<index_t> extents{50, GetParam()};
    const Type type = array(Dtype::c64, extents);
    const Samples x = random_samples(type.size() + 1);
    Samples first(x.size()), y(x.size());
    const Arguments arguments{{"x", argument(x.data() + 1, extents)}};
    run(transform_of(type), arguments, {argument(first.data(), extents)}, Tier::automatic, 1);
    first.insert(first.begin(), Sample(0));
    first.pop_back();
    for (const int threads : {1, 3}) {
        for (const Tier tier : {Tier::automatic, Tier::interpreted}) {
            std::fill(y.begin(), y.end(), Sample(0));
            run(transform_of(type), arguments, {argument(y.data() + 1, extents)}, tier, threads);
            EXPECT_TRUE(tests::same_bytes(y, first));
        }
    }
}

/// The program of README.md.
std::string inverse(index_t rows, index_t length) {
    const std::string type = text_of(array(Dtype::c64, {rows, length}));
    return "program inverse {\n    input X: " + type +
           ";\n    input scale: scalar f32;\n    number zero: f32 = 0;\n"
           "    local s: scalar c64;\n    local x: " +
           type + ";\n    local y: " + type + R"(;
    s = complex(scale, zero);
    x = conj(X);
    y = fft(x);
    x = conj(y);
    x = multiply(s, x);
    return x;
}
)";
}

TEST_P(ComposeFft, HasAnInverse) {
    const index_t length = GetParam();
    const std::vector<index_t> extents{9, length};
    const Samples x = random_samples(9 * length);
    Samples transformed(x.size()), back(x.size());
    run(transform_of(array(Dtype::c64, extents)), {{"x", argument(x.data(), extents)}},
        {argument(transformed.data(), extents)});
    const float scale = 1 / static_cast<float>(length);
    run(inverse(9, length),
        {{"X", argument(transformed.data(), extents)}, {"scale", argument(&scale, {})}},
        {argument(back.data(), extents)});
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        error += std::norm(back[i] - x[i]);
        norm += std::norm(x[i]);
    }
    EXPECT_LT(std::sqrt(error / norm), 2 * bound_of(std::size_t(length)));
}

TEST(ComposeFft, OfNoRowsIsNothing) {
    for (const std::vector<index_t>& extents :
         {std::vector<index_t>{0, 8}, std::vector<index_t>{3, 0, 8}}) {
        run(transform_of(array(Dtype::c64, extents)),
            {{"x", argument<const Sample>(nullptr, extents)}},
            {argument<Sample>(nullptr, extents)});
    }
}

TEST(ComposeFft, RunsAgainAndCountsItsOperations) {
    const Type type = array(Dtype::c64, {40, 8});
    Plan planned = plan(parse(transform_of(type)), Registry(), Fusion::thesis);
    EXPECT_THAT(explain(planned), testing::HasSubstr("16 bytes and 15 operations an element"));
    core::Cpu cpu(2);
    Executable<core::Cpu> executable(cpu, std::move(planned));
    Samples x = random_samples(type.size()), y(x.size());
    for (int i = 0; i < 2; ++i) {
        executable.run(cpu, {{"x", argument(x.data(), {40, 8})}},
                       std::vector<Argument>{argument(y.data(), {40, 8})});
        EXPECT_LT(error_of(x, y, 8), bound_of(8));
        x = y;
    }
}

#if APERTURE_CUDA
using ComposeFiltersGpu = tests::GpuTest;

/// Results of a run on random inputs.
template <class T, class Run>
std::vector<std::vector<T>> results_of(const std::string& text, const Run& run) {
    const Program program = parse(text);
    const ProgramMemory memory(program, 7);
    run(plan(program, Registry(), Fusion::thesis), memory);
    std::vector<std::vector<T>> all;
    for (const Argument& result : memory.results()) {
        const T* const first = static_cast<const T*>(result.data);
        all.emplace_back(first, first + result.type.size());
    }
    return all;
}
template <class T>
std::vector<std::vector<T>> results_on_gpu(const std::string& text) {
    return results_of<T>(text, [](Plan planned, const ProgramMemory& memory) {
        core::Gpu gpu;
        Executable<core::Gpu> executable(gpu, std::move(planned));
        for (int i = 0; i < 2; ++i) run_on(gpu, executable, memory);
    });
}
template <class T>
std::vector<std::vector<T>> results_on_cpu(const std::string& text) {
    return results_of<T>(text, [](Plan planned, const ProgramMemory& memory) {
        core::Cpu cpu(2);
        Executable<core::Cpu>(cpu, std::move(planned))
            .run(cpu, memory.arguments(), memory.results());
    });
}

TEST_F(ComposeFiltersGpu, RunBetweenKernels) {
    const std::string text =
        "program p { input I: array f32[61, 83]; local m: array f32[61, 83];"
        "local r: array f32[31, 42]; m = median<size = 5>(I); m = multiply(m, m);"
        "r = downsample<rows = 31, columns = 42>(m); r = add(r, r); return m, r; }";
    const auto expected = results_on_cpu<float>(text), found = results_on_gpu<float>(text);
    for (std::size_t k = 0; k < expected.size(); ++k) {
        for (std::size_t i = 0; i < expected[k].size(); ++i) {
            EXPECT_NEAR(expected[k][i], found[k][i], 1e-5F);
        }
    }
}

TEST_F(ComposeFiltersGpu, TransformBetweenKernels) {
    for (const index_t length : {1, 2, 3, 8, 60, 64, 97, 1000}) {
        for (const std::vector<index_t>& extents :
             {std::vector<index_t>{length}, std::vector<index_t>{17, length},
              std::vector<index_t>{3, 11, length}, std::vector<index_t>{0, length}}) {
            const std::string type = text_of(array(Dtype::c64, extents));
            const auto results = results_on_gpu<Sample>(
                "program p { input x: " + type + "; local t: " + type + "; local y: " + type +
                "; local z: " + type +
                "; t = add(x, x); y = fft(t); z = subtract(y, y); y = add(y, z); return t, y; }");
            if (results[0].empty()) continue;
            EXPECT_LT(error_of(results[0], results[1], std::size_t(length)),
                      bound_of(std::size_t(length)))
                << type;
        }
    }
}
#endif

}  // namespace
}  // namespace aperture::compose
