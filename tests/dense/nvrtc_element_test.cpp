// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// What for_each_element makes of texts compiles. The run-time compiler needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "libcore/gpu/compile_kernel.hpp"
#include "libdense/element_source.hpp"

namespace aperture::dense {

std::span<const core::KernelText> kernel_texts();

namespace {

using testing::HasSubstr;

/// x += gain K z, of fp32 vectors and an fp64 number.
ElementText example() {
    ElementText text;
    text.body =
        "for (int i = team.rank; i < 3; i += team.threads) {\n"
        "    for (int j = 0; j < 2; ++j) x(i) += gain * k(i, j) * T(z(j));\n"
        "}\n"
        "const T all = team.sum(T(x(0)));\n"
        "if (team.rank == 0) norm() = sqrt(all);\n";
    text.batches = {
        {"x", Access::in_out, NumberType::fp32, nullptr, 10, {3}, {3, 1}},
        {"k", Access::in, NumberType::fp32, nullptr, 10, {3, 2}, {6, 2, 1}},
        {"z", Access::in, NumberType::fp64, nullptr, 10, {2}, {1, 10}},
        {"norm", Access::out, NumberType::fp64, nullptr, 10, {}, {1}},
    };
    text.parameters = {{"gain", 0.5}};
    return text;
}

std::string compiled(const ElementText& text) {
    const auto kernels = core::compile_kernels(
        {"text", {core::kernel_texts(), kernel_texts()}, element_source(text)},
        {"aperture::dense::text_kernel"}, 90);
    return kernels ? kernels->names[0] : "no run-time compiler";
}

TEST(ElementTexts, CompileAtEveryLevel) {
    for (const int threads : {1, 8, 32, 64}) {
        ElementText text = example();
        text.threads = threads;
        EXPECT_THAT(compiled(text), HasSubstr("text_kernel")) << threads << " threads";
    }
}

TEST(ElementTexts, TellTheLineOfAnError) {
    ElementText text = example();
    text.body = "x(0) = 1;\nx(1) = wrong;\n";
    try {
        compiled(text);
        FAIL() << "it compiled";
    } catch (const core::CompileError& error) {
        EXPECT_THAT(error.log(), HasSubstr("body(2): error: identifier \"wrong\" is undefined"));
    }
}

TEST(ElementTexts, DoNotWriteToWhatIsRead) {
    ElementText text = example();
    text.body = "k(0, 0) = 1;";
    EXPECT_THROW(compiled(text), core::CompileError);
}

}  // namespace
}  // namespace aperture::dense
