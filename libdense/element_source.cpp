// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/element_source.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>
#include <sstream>
#include <string_view>

#include "aperture/core/error.hpp"

namespace aperture::dense {
namespace {

using core::text;

constexpr core::index_t most_entries = 65536;

bool is_name(std::string_view name) {
    const auto letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    return !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
           std::all_of(name.begin(), name.end(),
                       [&](unsigned char c) { return letter(c) || digit(c); });
}

const char* type_of(NumberType type) { return type == NumberType::fp32 ? "float" : "double"; }

/// The type T of the body.
NumberType common_type(const ElementText& of) {
    const bool any_double = std::any_of(of.batches.begin(), of.batches.end(),
                                        [](const auto& b) { return b.type == NumberType::fp64; });
    return any_double ? NumberType::fp64 : NumberType::fp32;
}

void expects_batch(const TextBatch& batch, core::index_t problems) {
    const auto rank = batch.extents.size();
    core::expects(rank <= 2, "for_each_element: problems of ", batch.name, " have ", rank,
                  " extents; they are numbers, vectors or matrices");
    core::expects(batch.strides.size() == rank + 1, "for_each_element: ", batch.name, " has ",
                  batch.strides.size(), " strides, must have ", rank + 1);
    core::expects(batch.problems == problems && problems >= 0, "for_each_element: ", batch.name,
                  " holds ", batch.problems, " problems, must hold ", problems);
    core::index_t entries = 1;
    for (const core::index_t extent : batch.extents) {
        core::expects(extent >= 1 && extent <= most_entries / entries,
                      "for_each_element: an extent of ", batch.name, " is ", extent,
                      "; a problem has 1 to ", most_entries, " numbers");
        entries *= extent;
    }
    const std::uintptr_t bytes = batch.type == NumberType::fp32 ? 4 : 8;
    core::expects(reinterpret_cast<std::uintptr_t>(batch.data) % bytes == 0,
                  "for_each_element: the address of ", batch.name, " is not a multiple of ", bytes);
}

/// "in<5, 5>(given.batch<const float, 3>(1))", for the batch of number 1.
std::string operand(const TextBatch& batch, int number) {
    std::string extents;
    for (const core::index_t extent : batch.extents) {
        extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    }
    const bool in = batch.access == Access::in;
    return text(in                            ? "in"
                : batch.access == Access::out ? "out"
                                              : "in_out",
                "<", extents, ">(batch_of<", in ? "const " : "", type_of(batch.type), ", ",
                batch.extents.size() + 1, ">(given, ", number, "))");
}

}  // namespace

MatrixShape::MatrixShape(const TextBatch& batch) {
    if (batch.extents.size() == 2) rows = batch.extents[0];
    if (!batch.extents.empty()) columns = batch.extents.back();
}

void expects_text(const ElementText& of) {
    core::expects(!of.batches.empty() && of.batches.size() <= most_text_batches,
                  "for_each_element: ", of.batches.size(), " batches, must be 1 to ",
                  most_text_batches);
    core::expects(of.parameters.size() <= most_text_parameters,
                  "for_each_element: ", of.parameters.size(), " parameters, at most ",
                  most_text_parameters);
    const int n = of.threads;
    core::expects((n >= 1 && n <= 32 && (n & (n - 1)) == 0) || (n > 32 && n <= 1024 && n % 32 == 0),
                  "for_each_element: ", n,
                  " threads, must be 1, 2, 4, 8, 16, 32 or a multiple of 32 up to 1024");
    std::set<std::string> names{"team", "T"};
    const auto expects_name = [&](const std::string& name) {
        core::expects(is_name(name), "for_each_element: \"", name, "\" is not a name in C++");
        core::expects(names.insert(name).second, "for_each_element: the name ", name, " is taken");
    };
    for (const TextBatch& batch : of.batches) {
        expects_name(batch.name);
        expects_batch(batch, of.batches[0].problems);
    }
    for (const TextParameter& parameter : of.parameters) expects_name(parameter.name);
}

std::string element_source(const ElementText& of) {
    const std::string type = type_of(common_type(of));
    std::string members, classes, elements, values, operands;
    int number = 0;
    for (const TextParameter& parameter : of.parameters) {
        members += "    T " + parameter.name + ";\n";
        values +=
            text(number == 0 ? "" : ", ", "static_cast<", type, ">(given.parameter[", number, "])");
        ++number;
    }
    number = 0;
    for (const TextBatch& batch : of.batches) {
        classes += text(", class Batch", number);
        elements += text(", Batch", number, "& ", batch.name);
        operands += text(", ", operand(batch, number));
        ++number;
    }
    return text(R"(#include "libdense/gpu/text_arguments.cuh"
namespace aperture::dense {
struct TextFunctor {
    using T = )",
                type, ";\n", members, "    template <class Team", classes, ">\n",
                "    __device__ __forceinline__ void operator()(const Team& team", elements,
                ") const {\n#line 1 \"body\"\n", of.body,
                "\n#line 1 \"after the body\"\n    }\n};\n",
                "__global__ void __launch_bounds__(detail::ElementsShape<", of.threads,
                ">::block)\n    text_kernel(TextArguments given) {\n    detail::run_elements<",
                of.threads, ">(given.problems, TextFunctor{", values, "}", operands, ");\n}\n}\n");
}

void for_each_element(core::Cpu&, const ElementText&) {
    throw core::InvalidArgument(
        "for_each_element: a body that is text needs a GPU: there is no compiler for the CPU at "
        "run "
        "time. A functor in C++ runs on both (aperture/dense/batch_elements.hpp)");
}

}  // namespace aperture::dense
