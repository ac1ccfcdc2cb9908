// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/line_calls.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace aperture::compose {

bool is_of_rows(const Kernel& kernel) {
    return std::any_of(kernel.calls.begin(), kernel.calls.end(),
                       [](const PlannedCall& one) { return adds_lines(one.match.level); });
}

bool is_of_vectors(const PlannedCall& planned) {
    const auto& [call, match, operation] = planned;
    const Type& made = match.results.front();
    return match.level == Level::element && made.kind == Kind::array && made.rank == 1 &&
           std::all_of(match.accesses.begin(), match.accesses.end(),
                       [](const Access& access) { return access.kind == Access::Kind::point; });
}

std::vector<unsigned> sides_of(const std::vector<const PlannedCall*>& calls, const Type& image) {
    std::vector<unsigned> sides(calls.size(), along_rows | along_columns);
    std::map<SymbolId, unsigned> of_written;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& [call, match, operation] = *calls[i];
        if (match.level == Level::row) sides[i] = along_rows;
        if (match.level == Level::column) sides[i] = along_columns;
        if (is_of_vectors(*calls[i])) {
            const index_t length = match.results.front().extent[0];
            sides[i] = (length == image.extent[0] ? along_rows : 0) |
                       (length == image.extent[1] ? along_columns : 0);
        } else if (!adds_lines(match.level)) {
            continue;
        }
        for (const SymbolId id : call->results) of_written[id] = along_rows | along_columns;
    }
    for (bool changes = true; changes;) {
        changes = false;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const Call& call = *calls[i]->call;
            std::vector<SymbolId> vectors = call.results;
            if (is_of_vectors(*calls[i])) {
                vectors.insert(vectors.end(), call.operands.begin(), call.operands.end());
            } else if (!adds_lines(calls[i]->match.level)) {
                continue;
            }
            const unsigned before = sides[i];
            for (const SymbolId id : vectors) {
                const auto found = of_written.find(id);
                if (found != of_written.end()) sides[i] &= found->second;
            }
            for (const SymbolId id : vectors) {
                const auto found = of_written.find(id);
                if (found == of_written.end()) continue;
                changes = changes || found->second != sides[i];
                found->second = sides[i];
            }
            changes = changes || sides[i] != before;
        }
    }
    return sides;
}

std::vector<LinePart> line_parts(const Kernel& kernel) {
    std::vector<const PlannedCall*> calls;
    for (const PlannedCall& planned : kernel.calls) calls.push_back(&planned);
    const std::vector<unsigned> sides = sides_of(calls, kernel.elements);
    std::set<SymbolId> after_totals;  // values of rows that depend on totals, and what reads them
    std::vector<LinePart> parts;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const auto& [call, match, operation] = *calls[i];
        const bool is_after = std::any_of(call->operands.begin(), call->operands.end(),
                                          [&](SymbolId id) { return after_totals.count(id) > 0; });
        if (is_of_vectors(*calls[i])) {
            parts.push_back((sides[i] & along_rows) != 0 ? LinePart::of_row : LinePart::of_column);
        } else if (match.level == Level::element && match.results.front().is_scalar()) {
            parts.push_back(LinePart::scalars);
        } else {
            parts.push_back(is_after ? LinePart::second : LinePart::first);
        }
        if (is_after || match.level == Level::row) {
            after_totals.insert(call->results.begin(), call->results.end());
        }
    }
    if (std::count(parts.begin(), parts.end(), LinePart::second) > 0) {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            if (calls[i]->match.level == Level::column) parts[i] = LinePart::second;
        }
    }
    return parts;
}

bool is_in_parts(const Kernel& kernel) {
    const std::vector<LinePart> parts = line_parts(kernel);
    return std::count(parts.begin(), parts.end(), LinePart::second) > 0;
}

}  // namespace aperture::compose
