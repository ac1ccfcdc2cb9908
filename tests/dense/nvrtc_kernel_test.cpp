// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Register-resident kernels are compiled at run time, so that the build's report on spills does not
// list them. The run-time compiler needs no GPU.
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <array>
#include <string>
#include <vector>

#include "libdense/gpu/batch_factor.cuh"
#include "libdense/gpu/solve.cuh"

namespace aperture::dense {
namespace {

using Kernels = std::vector<std::string>;

/// The assembler's report on kernels of a source, which are compiled together.
std::string resources(const core::KernelSource& source, const Kernels& kernels) {
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
    for (const std::string& kernel : kernels) {
        EXPECT_EQ(nvrtcAddNameExpression(program, ("aperture::dense::" + kernel).c_str()),
                  NVRTC_SUCCESS);
    }
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

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

/// Expects neither spills nor stack frames of kernels of a file.
void expect_registers(const char* file, const Kernels& kernels) {
    const std::string log = resources(detail::kernel_source(file), kernels);
    EXPECT_EQ(count(log, "bytes stack frame"), kernels.size()) << log;
    EXPECT_EQ(count(log, " 0 bytes stack frame, 0 bytes spill"), kernels.size()) << log;
}

/// Of each type the orders at which a lane holds most, which would spill first.
template <class E>
class RegisterSolves : public testing::Test {
  protected:
    static constexpr bool fp32 = sizeof(E) == 4;
    static constexpr bool complex_fp64 = sizeof(E) == 16;
};
using Scalars = testing::Types<float, double, core::Complex<float>, core::Complex<double>>;
TYPED_TEST_SUITE(RegisterSolves, Scalars);

TYPED_TEST(RegisterSolves, KeepTheirMatricesInRegisters) {
    using E = TypeParam;
    Kernels kernels;
    const std::vector<int> orders = this->fp32           ? std::vector{24, 32}
                                    : this->complex_fp64 ? std::vector{16}
                                                         : std::vector{32};
    for (const int order : orders) {
        const auto policy = tuning::register_solve<E>(order, 16);
        ASSERT_GT(policy.lanes, 0);
        kernels.push_back(detail::register_solve_expression<E>(order, policy));
    }
    expect_registers(detail::register_solve_file, kernels);
}

TYPED_TEST(RegisterSolves, KeepTheColumnsOfGeneralMatricesInRegisters) {
    using E = TypeParam;
    constexpr int order = 16;
    const std::string its = core::text(detail::type_name<E>(), ", ", order, ", ");
    using enum tuning::ColumnsWork;
    const int qr_lanes = tuning::columns_lanes<E>(qr, order, order);
    const int lu_lanes = tuning::columns_lanes<E>(lu, order, order);
    const int solve_lanes = tuning::columns_lanes<E>(solve, order, order + 1);
    ASSERT_TRUE(qr_lanes > 0 && lu_lanes > 0 && solve_lanes > 0);
    expect_registers(detail::columns_file,
                     {core::text("lu_in_columns<", its, lu_lanes, ", true>"),
                      core::text("inverse_in_columns<", its, lu_lanes, ">"),
                      core::text("solve_in_columns<", its, "1, ", solve_lanes,
                                 ", aperture::dense::GeneralElimination::pivoted_lu>")});
    expect_registers(detail::qr_file,
                     {core::text("qr_in_columns<", its, order, ", ", qr_lanes, ">")});
}

TYPED_TEST(RegisterSolves, KeepRowsInRegisters) {
    using E = TypeParam;
    Kernels of_triangles, of_rows;
    // Rows of an odd number of words are stored differently.
    const std::vector<int> orders = this->fp32           ? std::vector{31, 32}
                                    : this->complex_fp64 ? std::vector{8}
                                                         : std::vector{32};
    for (const int order : orders) {
        const std::string its = core::text(detail::type_name<E>(), ", ", order, ", ");
        const int triangle_lanes = tuning::triangle_lanes<E>(order);
        ASSERT_GT(triangle_lanes, 0);
        using enum tuning::RowsWork;
        const int lanes = tuning::rows_lanes<E>(pivoted_factors, order, order);
        const int inverse_lanes = tuning::rows_lanes<E>(inverse, order, order);
        const int solve_lanes = tuning::rows_lanes<E>(solution, order, order + 1);
        of_triangles.push_back(core::text("cholesky_in_rows<", its, triangle_lanes, ">"));
        of_triangles.push_back(
            core::text("solve_positive_in_rows<", its, "1, ", triangle_lanes, ">"));
        of_rows.push_back(core::text("lu_in_rows<", its, lanes, ", true>"));
        of_rows.push_back(core::text("inverse_in_rows<", its, inverse_lanes, ">"));
        // Of order 31 a word is spilled.
        if (order % 2 != 0) continue;
        of_rows.push_back(core::text("solve_in_rows<", its, "1, ", solve_lanes,
                                     ", aperture::dense::GeneralElimination::pivoted_lu>"));
    }
    expect_registers(detail::cholesky_file, of_triangles);
    expect_registers(detail::rows_file, of_rows);
}

TYPED_TEST(RegisterSolves, KeepTheVectorsOfFactorsInRegisters) {
    using E = TypeParam;
    Kernels kernels;
    // Unrolled, of matrices whose rows are packed, and with steps that share code.
    for (const int order : {8, 15, 16, 32}) {
        if (this->complex_fp64 && order > 16) continue;
        const std::string its = core::text(detail::type_name<E>(), ", ", order, ", ");
        const int lanes = tuning::apply_lanes<E>(order, order);
        const int form_lanes = tuning::form_q_lanes<E>(order, order);
        ASSERT_GT(lanes, 0);
        kernels.push_back(core::text("substitute_in_lanes<", its, "1, ", lanes, ", false>"));
        kernels.push_back(core::text("substitute_in_lanes<", its, "1, ", lanes, ", true>"));
        kernels.push_back(core::text("apply_q_in_lanes<", its, order, ", 1, ", lanes, ", true>"));
        if (form_lanes > 0) {
            kernels.push_back(core::text("form_q_in_lanes<", its, order, ", ", form_lanes, ">"));
        }
    }
    expect_registers(detail::apply_file, kernels);
}

}  // namespace
}  // namespace aperture::dense
