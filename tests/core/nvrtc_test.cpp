// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aperture/core/compilation_counts.hpp"
#include "aperture/core/error.hpp"
#include "libcore/gpu/compile_kernel.hpp"
#include "tests/temporary_folder.hpp"

namespace aperture {
namespace {

namespace fs = std::filesystem;
using core::CompiledKernels;
using core::KernelText;
using testing::HasSubstr;

constexpr KernelText scale_kernel[] = {{"test/scale.cuh", R"(
#pragma once
#include "libcore/gpu/block.cuh"
namespace aperture::test {
template <class T, int Count>
__global__ void scale(T* values, core::RealOf<T> factor) {
    APERTURE_UNROLL
    for (int i = 0; i < Count; ++i) values[i] = values[i] * factor;
}
}
)"}};

constexpr KernelText every_primitive[] = {{"test/every_primitive.cuh", R"(
#pragma once
#include "libcore/gpu/block.cuh"
namespace aperture::test {
template <class T>
__global__ void every_primitive(const T* in, T* out) {
    T* tile = core::shared<T>();
    core::load_tile(tile, 16, core::GlobalTile<T>{in, 16, 16, 9}, 16, 16, core::thread_rank(),
                    core::block_threads());
    core::commit_copies();
    core::wait_for_copies<1>();
    core::wait_for_copies();
    __syncthreads();
    T value = core::multiply_add(tile[core::thread_rank()], in[0], core::conj(in[1]));
    value = core::broadcast<8>(value, 2);
    value = core::warp_reduce<16>(value);
    value = core::block_reduce(value, tile);
    out[core::thread_rank()] = value;
}
}
)"}};

/// Compiles with a cache folder of its own.
class Nvrtc : public testing::Test {
  protected:
    Nvrtc() {
        setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
        unsetenv("APERTURE_CACHE");
    }

    static std::optional<CompiledKernels> try_to_compile(int count, int architecture) {
        return core::compile_kernels(source(scale_kernel),
                                     {core::text("aperture::test::scale<float, ", count, ">")},
                                     architecture);
    }
    static CompiledKernels compile(int count, int architecture = 90) {
        return try_to_compile(count, architecture).value();
    }
    template <std::size_t Size>
    static core::KernelSource source(const KernelText (&root)[Size]) {
        return {root[0].name, {root, core::kernel_texts()}};
    }
    std::vector<fs::path> cache_files() const {
        std::vector<fs::path> files;
        if (!fs::exists(folder_ / "aperture")) return files;
        for (const auto& entry : fs::directory_iterator(folder_ / "aperture")) {
            files.push_back(entry.path());
        }
        return files;
    }

    const tests::TemporaryFolder folder_;
};

TEST_F(Nvrtc, CompilesEveryCoreKernelHeaderByItself) {
    for (const KernelText& header : core::kernel_texts()) {
        const std::string text =
            "#include \"" + std::string(header.name) + "\"\n__global__ void nothing() {}\n";
        const KernelText root[] = {{"test/alone.cuh", text.c_str()}};
        EXPECT_TRUE(core::compile_kernels(source(root), {"nothing"}, 80)) << header.name;
    }
    EXPECT_GE(core::kernel_texts().size(), 7u);
}

TEST_F(Nvrtc, CompilesEveryPrimitiveForOldAndNewArchitectures) {
    for (const int architecture : {80, 89, 120}) {
        for (const char* type : {"float", "double", "aperture::core::Complex<float>",
                                 "aperture::core::Complex<double>"}) {
            const CompiledKernels compiled =
                core::compile_kernels(source(every_primitive),
                                      {core::text("aperture::test::every_primitive<", type, ">")},
                                      architecture)
                    .value();
            EXPECT_EQ(compiled.cubin.substr(1, 3), "ELF");
            EXPECT_THAT(compiled.names.at(0), HasSubstr("every_primitive"));
        }
    }
}

TEST_F(Nvrtc, TheSecondTimeComesFromTheCache) {
    const CompiledKernels first = compile(20), second = compile(20);
    EXPECT_FALSE(first.from_cache);
    EXPECT_TRUE(second.from_cache);
    EXPECT_EQ(first.cubin, second.cubin);
    EXPECT_EQ(first.names, second.names);
    EXPECT_EQ(cache_files().size(), 1u) << "only whole files under their own name";
    EXPECT_FALSE(compile(21).from_cache);
    EXPECT_FALSE(compile(20, 80).from_cache);
    EXPECT_EQ(cache_files().size(), 3u);
}

TEST_F(Nvrtc, ChangedTextIsAnotherKernel) {
    compile(20);
    std::string changed = scale_kernel[0].text;
    changed += "// changed\n";
    const KernelText root[] = {{scale_kernel[0].name, changed.c_str()}};
    EXPECT_FALSE(
        core::compile_kernels(source(root), {"aperture::test::scale<float, 20>"}, 90)->from_cache);
}

TEST_F(Nvrtc, AFileOfAnotherTextIsReplaced) {
    const auto compile_text = [](int value) {
        const core::KernelSource source{
            "text",
            {core::kernel_texts()},
            core::text("__global__ void k(int* a) { *a = ", value, "; }\n")};
        return core::compile_kernels(source, {"k"}, 90).value();
    };
    const CompiledKernels five = compile_text(5);
    const fs::path file = cache_files().at(0);
    fs::copy_file(file, folder_ / "five");
    fs::remove(file);
    const CompiledKernels six = compile_text(6);
    EXPECT_NE(five.cubin, six.cubin);
    // As if both texts had one hash.
    fs::rename(folder_ / "five", cache_files().at(0));
    const CompiledKernels again = compile_text(6);
    EXPECT_FALSE(again.from_cache);
    EXPECT_EQ(again.cubin, six.cubin);
    EXPECT_TRUE(compile_text(6).from_cache);
}

TEST_F(Nvrtc, DamagedCacheFilesAreReplaced) {
    const CompiledKernels good = compile(20);
    const fs::path file = cache_files().at(0);
    const auto size = fs::file_size(file);
    const auto expect_replaced = [&](const char* damage) {
        const CompiledKernels again = compile(20);
        EXPECT_FALSE(again.from_cache) << damage;
        EXPECT_EQ(again.cubin, good.cubin) << damage;
        EXPECT_TRUE(compile(20).from_cache) << damage;
    };
    fs::resize_file(file, 0);
    expect_replaced("empty");
    fs::resize_file(file, size - 1);
    expect_replaced("truncated");
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(size / 2));
    stream << "\x5a\x5b\x5c";
    stream.close();
    expect_replaced("three bytes changed");
}

TEST_F(Nvrtc, WithoutACacheItCompilesEveryTime) {
    setenv("APERTURE_CACHE", "off", 1);
    EXPECT_FALSE(compile(20).from_cache);
    EXPECT_FALSE(compile(20).from_cache);
    EXPECT_TRUE(cache_files().empty());
    unsetenv("APERTURE_CACHE");
    // The folder cannot be created because a file of that name exists.
    std::ofstream(folder_ / "aperture") << "in the way";
    EXPECT_FALSE(compile(20).from_cache);
    EXPECT_FALSE(compile(20).from_cache);
}

TEST_F(Nvrtc, ErrorsCarryTheCompilersWords) {
    const KernelText root[] = {{"test/broken.cuh", "__global__ void k() { undeclared = 1; }\n"}};
    try {
        core::compile_kernels(source(root), {"k"}, 90);
        FAIL() << "compiled";
    } catch (const core::DeviceError& error) {
        EXPECT_THAT(error.what(), HasSubstr("undeclared"));
    }
    EXPECT_TRUE(cache_files().empty());
}

TEST_F(Nvrtc, GivesNothingForArchitecturesItDoesNotKnow) {
    EXPECT_FALSE(try_to_compile(20, 12));
    EXPECT_TRUE(cache_files().empty());
}

using NvrtcDeathTest = Nvrtc;

// Runs in its own process because the compiler is searched for once per process.
TEST_F(NvrtcDeathTest, GivesNothingWhereItIsNotInstalled) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const auto compile_without = [] {
        setenv("APERTURE_NVRTC", "off", 1);
        const bool compiled = try_to_compile(20, 90).has_value();
        unsetenv("APERTURE_NVRTC");
        std::exit(compiled || try_to_compile(20, 90) ? 1 : 0);
    };
    EXPECT_EXIT(compile_without(), testing::ExitedWithCode(0), "");
}

TEST_F(Nvrtc, ThreadsMayCompileAtTheSameTime) {
    const CompiledKernels expected = compile(8);
    fs::remove(cache_files().at(0));
    std::vector<CompiledKernels> compiled(4);
    {
        std::vector<std::jthread> threads;
        for (CompiledKernels& own : compiled) threads.emplace_back([&own] { own = compile(8); });
    }
    for (const CompiledKernels& own : compiled) EXPECT_EQ(own.cubin, expected.cubin);
    EXPECT_EQ(cache_files().size(), 1u);
}

TEST_F(Nvrtc, CompilesSeveralKernelsTogether) {
    const auto of_counts = [](const std::vector<int>& counts) {
        std::vector<std::string> expressions;
        for (const int count : counts) {
            expressions.push_back(core::text("aperture::test::scale<float, ", count, ">"));
        }
        return core::compile_kernels(source(scale_kernel), expressions, 90).value();
    };
    const CompiledKernels both = of_counts({5, 3});
    EXPECT_EQ(both.names, (std::vector{compile(5).names.at(0), compile(3).names.at(0)}));
    for (const std::string& name : both.names) EXPECT_THAT(both.cubin, HasSubstr(name));
    const CompiledKernels again = of_counts({5, 3});
    EXPECT_TRUE(again.from_cache);
    EXPECT_EQ(again.names, both.names);
    EXPECT_EQ(again.cubin, both.cubin);
    const CompiledKernels turned = of_counts({3, 5});
    EXPECT_FALSE(turned.from_cache);
    EXPECT_EQ(turned.names, (std::vector{both.names[1], both.names[0]}));
}

TEST_F(Nvrtc, TakesOptionsOfASource) {
    constexpr KernelText root[] = {{"test/sum.cuh",
                                    "__global__ void k(float* a) { *a = a[1] * a[2] + a[3]; }\n"
                                    "#ifdef OTHER\n__global__ void other() {}\n#endif\n"}};
    core::KernelSource fused = source(root), separate = source(root), defined = source(root);
    separate.options = {"--fmad=false"};
    defined.options = {"-DOTHER"};
    const CompiledKernels of_fused = core::compile_kernels(fused, {"k"}, 90).value();
    const CompiledKernels of_separate = core::compile_kernels(separate, {"k"}, 90).value();
    EXPECT_FALSE(of_separate.from_cache);
    EXPECT_NE(of_fused.cubin, of_separate.cubin);
    EXPECT_TRUE(core::compile_kernels(separate, {"k"}, 90)->from_cache);
    EXPECT_THROW(core::compile_kernels(fused, {"k", "other"}, 90), core::CompileError);
    EXPECT_TRUE(core::compile_kernels(defined, {"k", "other"}, 90));
}

TEST_F(Nvrtc, CountsWhatItMakes) {
    const auto counts_of = [](const auto& make) {
        const core::CompilationCounts before = core::compilation_counts();
        make();
        const core::CompilationCounts after = core::compilation_counts();
        EXPECT_GT(after.ms, before.ms);
        return std::pair(after.compiled - before.compiled, after.from_cache - before.from_cache);
    };
    const auto make_two = [] {
        core::compile_kernels(source(scale_kernel),
                              {"aperture::test::scale<float, 1>", "aperture::test::scale<int, 1>"},
                              90);
    };
    EXPECT_EQ(counts_of(make_two), (std::pair(2LL, 0LL)));
    EXPECT_EQ(counts_of(make_two), (std::pair(0LL, 2LL)));
}

}  // namespace
}  // namespace aperture
