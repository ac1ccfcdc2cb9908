// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Register-resident kernels are compiled at run time, so that the build's report on spills does not
// list them. The run-time compiler needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <array>
#include <string>
#include <vector>

#include "libdense/gpu/batch_factor.cuh"
#include "libdense/gpu/solve.cuh"

namespace aperture::dense {
namespace {

/// The assembler's report on the kernel named by `expression`.
std::string resources(const core::KernelSource& source, const std::string& expression) {
    std::vector<const char*> names, texts;
    for (const auto& library : source.texts) {
        for (const core::KernelText& file : library) {
            names.push_back(file.name);
            texts.push_back(file.text);
        }
    }
    nvrtcProgram program = nullptr;
    EXPECT_EQ(nvrtcCreateProgram(&program, ("#include \"" + source.root + "\"\n").c_str(), nullptr,
                                 static_cast<int>(names.size()), texts.data(), names.data()),
              NVRTC_SUCCESS);
    EXPECT_EQ(nvrtcAddNameExpression(program, ("aperture::dense::" + expression).c_str()),
              NVRTC_SUCCESS);
    constexpr std::array options{"--gpu-architecture=sm_90", "--std=c++20", "-DNDEBUG",
                                 "--device-as-default-execution-space", "--ptxas-options=-v"};
    EXPECT_EQ(nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()),
              NVRTC_SUCCESS);
    std::size_t size = 0;
    EXPECT_EQ(nvrtcGetProgramLogSize(program, &size), NVRTC_SUCCESS);
    std::string log(size, '\0');
    EXPECT_EQ(nvrtcGetProgramLog(program, log.data()), NVRTC_SUCCESS);
    nvrtcDestroyProgram(&program);
    return log;
}

template <class E>
class RegisterSolves : public testing::Test {};
using Scalars = testing::Types<float, double, core::Complex<float>, core::Complex<double>>;
TYPED_TEST_SUITE(RegisterSolves, Scalars);

constexpr const char* no_spills = " 0 bytes stack frame, 0 bytes spill";

TYPED_TEST(RegisterSolves, KeepTheirMatricesInRegisters) {
    using E = TypeParam;
    for (const int order : {12, 16, 24, 32}) {
        const auto policy = tuning::register_solve<E>(order, 16);
        if (policy.lanes == 0) continue;
        const std::string name = detail::register_solve_expression<E>(order, policy);
        EXPECT_THAT(resources(detail::kernel_source(detail::register_solve_file), name),
                    testing::ContainsRegex(no_spills))
            << name;
    }
}

TYPED_TEST(RegisterSolves, KeepTheColumnsOfGeneralMatricesInRegisters) {
    using E = TypeParam;
    for (const int order : {8, 16}) {
        const std::string type = detail::type_name<E>();
        using enum tuning::ColumnsWork;
        const int of_qr = tuning::columns_lanes<E>(qr, order, order);
        const int of_lu = tuning::columns_lanes<E>(lu, order, order);
        const int of_solve = tuning::columns_lanes<E>(solve, order, order + 1);
        if (of_qr == 0 || of_lu == 0 || of_solve == 0) continue;
        for (const auto& [file, kernel] :
             {std::pair{detail::columns_file,
                        core::text("lu_in_columns<", type, ", ", order, ", ", of_lu, ", true>")},
              std::pair{detail::columns_file,
                        core::text("inverse_in_columns<", type, ", ", order, ", ", of_lu, ">")},
              std::pair{detail::qr_file, core::text("qr_in_columns<", type, ", ", order, ", ",
                                                    order, ", ", of_qr, ">")},
              std::pair{detail::columns_file,
                        core::text("solve_in_columns<", type, ", ", order, ", 1, ", of_solve,
                                   ", aperture::dense::GeneralElimination::pivoted_lu>")}}) {
            EXPECT_THAT(resources(detail::kernel_source(file), kernel),
                        testing::ContainsRegex(no_spills))
                << kernel;
        }
    }
}

TYPED_TEST(RegisterSolves, KeepRowsInRegisters) {
    using E = TypeParam;
    const std::string type = detail::type_name<E>();
    for (const int order : {8, 31, 32}) {
        const int of_triangle = tuning::triangle_lanes<E>(order);
        if (of_triangle == 0) continue;
        const int lanes = tuning::rows_lanes<E>(order, order, false);
        const int of_inverse = tuning::rows_lanes<E>(order, order, true);
        const int of_solve = tuning::rows_lanes<E>(order, order + 1, false);
        const std::string its = core::text(type, ", ", order, ", ");
        for (const auto& [file, kernel] :
             {std::pair{detail::cholesky_file,
                        core::text("cholesky_in_rows<", its, of_triangle, ">")},
              std::pair{detail::cholesky_file,
                        core::text("solve_positive_in_rows<", its, "1, ", of_triangle, ">")},
              std::pair{detail::rows_file, core::text("lu_in_rows<", its, lanes, ", true>")},
              std::pair{detail::rows_file, core::text("inverse_in_rows<", its, of_inverse, ">")},
              std::pair{detail::rows_file,
                        core::text("solve_in_rows<", its, "1, ", of_solve, ", true>")}}) {
            EXPECT_THAT(resources(detail::kernel_source(file), kernel),
                        testing::ContainsRegex(no_spills))
                << kernel;
        }
    }
}

}  // namespace
}  // namespace aperture::dense
