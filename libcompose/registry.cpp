// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "aperture/compose/operation.hpp"
#include "aperture/core/error.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

/// Letters to insert, remove or replace to make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

void Operation::compute(const CallSite& site, const RowPiece&, std::span<const RowOperand>,
                        std::span<void* const>) const {
    throw core::InvalidArgument(site.call.operation + " does not work on elements");
}
void Operation::compute_problem(const CallSite& site, std::span<const void* const>,
                                std::span<void* const>, void*) const {
    throw core::InvalidArgument(site.call.operation + " does not work on batches");
}
RowFunction Operation::row_function(const CallSite& site) const {
    return
        [this, site](const RowPiece& piece, std::span<const RowOperand> operands,
                     std::span<void* const> results) { compute(site, piece, operands, results); };
}
Code Operation::code(const CallSite& site, std::span<const std::string>,
                     std::span<const std::string>) const {
    throw core::InvalidArgument(site.call.operation + " does not work on elements");
}
std::unique_ptr<DeviceCall<core::Cpu>> Operation::prepare(core::Cpu&, const CallSite& site) const {
    throw core::InvalidArgument(site.call.operation + " does not run on a CPU");
}
std::unique_ptr<DeviceCall<core::Gpu>> Operation::prepare(core::Gpu&, const CallSite& site) const {
    throw core::InvalidArgument(site.call.operation + " does not run on a GPU");
}

Registry::Registry() {
    add_pointwise(*this);
    add_neighbourhoods(*this);
    add_sums(*this);
    add_matrices(*this);
    add_lines(*this);
    add_blocks(*this);
    add_filters(*this);
}

void Registry::add(const std::string& name, std::shared_ptr<const Operation> operation) {
    core::expects(is_identifier(name), "'", name, "' cannot be the name of an operation");
    core::expects(operations_.emplace(name, std::move(operation)).second, "there is an operation ",
                  name, " already");
}

const std::shared_ptr<const Operation>& Registry::find(std::string_view name) const {
    const auto found = operations_.find(name);
    if (found != operations_.end()) return found->second;
    const std::size_t similar = 1 + name.size() / 4;
    std::string also;
    for (const auto& [known, operation] : operations_) {
        if (distance(known, name) <= similar) also += (also.empty() ? "; is it " : ", ") + known;
    }
    throw core::InvalidArgument(core::text("there is no operation ", name, also));
}

}  // namespace aperture::compose
