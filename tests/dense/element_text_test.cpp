// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "aperture/core/error.hpp"
#include "libdense/element_source.hpp"

namespace aperture::dense {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

ElementText scaled_vectors() {
    ElementText text;
    text.body = "x(0) *= gain;";
    text.batches = {{"x", Access::in_out, NumberType::fp32, nullptr, 10, {3}, {3, 1}},
                    {"y", Access::in, NumberType::fp32, nullptr, 10, {}, {1}}};
    text.parameters = {{"gain", 0.5}};
    return text;
}

void expect_refused(const std::function<void(ElementText&)>& change, const std::string& why) {
    ElementText text = scaled_vectors();
    change(text);
    EXPECT_THAT([&] { expects_text(text); }, ThrowsMessage<core::InvalidArgument>(HasSubstr(why)));
}

TEST(ElementText, IsCheckedBeforeItIsCompiled) {
    EXPECT_NO_THROW(expects_text(scaled_vectors()));
    expect_refused([](auto& t) { t.batches.clear(); }, "0 batches, must be 1 to 16");
    expect_refused([](auto& t) { t.batches[1].name = "x"; }, "the name x is taken");
    expect_refused([](auto& t) { t.parameters[0].name = "team"; }, "the name team is taken");
    expect_refused([](auto& t) { t.batches[0].name = "2x"; }, "\"2x\" is not a name in C++");
    expect_refused([](auto& t) { t.batches[0].name = "x; y"; }, "\"x; y\" is not a name in C++");
    expect_refused([](auto& t) { t.batches[1].problems = 9; }, "y holds 9 problems, must hold 10");
    expect_refused([](auto& t) { t.batches[0].strides = {1}; }, "x has 1 strides, must have 2");
    expect_refused([](auto& t) { t.batches[0].extents = {0}; }, "an extent of x is 0");
    expect_refused(
        [](auto& t) {
            t.batches[0].extents = {1, 2, 3};
        },
        "problems of x have 3 extents");
    expect_refused(
        [](auto& t) {
            t.batches[0].extents = {300, 300};
            t.batches[0].strides = {90000, 300, 1};
        },
        "an extent of x is 300; a problem has 1 to 65536 numbers");
    expect_refused([](auto& t) { t.batches[0].problems = t.batches[1].problems = -1; },
                   "x holds -1 problems");
    expect_refused([](auto& t) { t.batches[0].data = reinterpret_cast<void*>(std::uintptr_t{2}); },
                   "the address of x is not a multiple of 4");
    for (const int threads : {0, 3, 48, 2048}) {
        expect_refused([&](auto& t) { t.threads = threads; }, " threads, must be 1, 2, 4");
    }
    expect_refused([](auto& t) { t.parameters.resize(33); }, "33 parameters, at most 32");
}

TEST(ElementText, IsCompiledOnceForAllNumbersAndStrides) {
    const std::string source = element_source(scaled_vectors());
    ElementText text = scaled_vectors();
    text.parameters[0].value = 2;
    text.batches[0].strides = {1, 10};
    text.batches[0].problems = text.batches[1].problems = 20;
    EXPECT_EQ(element_source(text), source);
    text.batches[0].extents = {4};
    EXPECT_NE(element_source(text), source);
}

TEST(ElementText, ComputesInTheWidestTypeOfItsBatches) {
    ElementText text = scaled_vectors();
    EXPECT_THAT(element_source(text), HasSubstr("using T = float;"));
    text.batches[1].type = NumberType::fp64;
    EXPECT_THAT(element_source(text), HasSubstr("using T = double;"));
}

TEST(ElementText, NeedsAGpu) {
    core::Cpu cpu(1);
    EXPECT_THAT([&] { for_each_element(cpu, scaled_vectors()); },
                ThrowsMessage<core::InvalidArgument>(HasSubstr("no compiler for the CPU")));
}

}  // namespace
}  // namespace aperture::dense
