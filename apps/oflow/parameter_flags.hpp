// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "aperture/flow/parameters.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"

namespace aperture::apps {

/// What determines the parameters before other flags override them.
struct PresetChoice {
    flow::Method method = flow::Method::horn_schunck;
    flow::Preset preset = flow::Preset::fast;
    std::optional<flow::Solver> solver;  ///< default: the preset's
};

/// Adds the flags of the estimation. `parameters` are complete once the line is parsed again, after
/// they were set to those of the parsed choice.
void add_parameter_options(CommandLine& line, PresetChoice& choice, flow::Parameters& parameters);

/// Throws core::InvalidArgument for values out of range and for flags without effect, since they
/// show a misunderstanding.
void check_parameters(const CommandLine& line, const flow::Parameters& parameters);

inline constexpr Choices<flow::Method, 2> method_choices{
    {{"hs", flow::Method::horn_schunck}, {"lk", flow::Method::lucas_kanade}}};
inline constexpr Choices<flow::Preset, 3> preset_choices{{{"fast", flow::Preset::fast},
                                                          {"accurate", flow::Preset::accurate},
                                                          {"thesis", flow::Preset::thesis}}};
inline constexpr Choices<signal::Interpolation, 2> interpolation_choices{
    {{"bilinear", signal::Interpolation::bilinear}, {"bicubic", signal::Interpolation::bicubic}}};
inline constexpr Choices<flow::Basis, 3> basis_choices{{{"monomial", flow::Basis::monomial},
                                                        {"newton", flow::Basis::newton},
                                                        {"chebyshev", flow::Basis::chebyshev}}};
inline constexpr Choices<flow::Solver, 6> flow_solver_choices{
    {{"jacobi", flow::Solver::jacobi},
     {"block2x2", flow::Solver::block2x2},
     {"cg", flow::Solver::cg},
     {"cacg", flow::Solver::cacg},
     {"redblack", flow::Solver::redblack},
     {"multigrid", flow::Solver::multigrid}}};
inline constexpr Choices<flow::Implementation, 2> flow_implementation_choices{
    {{"fused", flow::Implementation::fused}, {"staged", flow::Implementation::staged}}};
inline constexpr Choices<bool, 2> precondition_choices{{{"block", true}, {"none", false}}};
inline constexpr Choices<flow::Boundary, 2> boundary_choices{
    {{"replicate", flow::Boundary::replicate}, {"zero", flow::Boundary::zero}}};
inline constexpr Choices<flow::Stencil, 2> stencil_choices{
    {{"5", flow::Stencil::five}, {"9", flow::Stencil::nine}}};

}  // namespace aperture::apps
