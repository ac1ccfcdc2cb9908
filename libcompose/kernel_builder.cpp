// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/kernel_builder.hpp"

#include <algorithm>

namespace aperture::compose {
namespace {

bool fuses(const Match& match) { return match.level != Level::device; }

/// Entries that other threads write, or other groups of threads.
bool reads_others(const Access& access) {
    return access.kind != Access::Kind::point && access.kind != Access::Kind::problem;
}

}  // namespace

index_t bytes_of_problem(const std::vector<OnChip>& numbers) {
    index_t bytes = 0;
    for (const OnChip& one : numbers) {
        bytes += one.type.numbers_of_problem() * bytes_of(one.type.dtype);
    }
    return bytes;
}

bool KernelBuilder::accepts(const PlannedCall& planned) const {
    const auto& [call_pointer, match, operation] = planned;
    const Call& call = *call_pointer;
    if (kernel_.calls.empty()) return true;
    if (fusion_ == Fusion::none || !fuses(match) || !fuses(kernel_.calls.back().match)) {
        return false;
    }
    if (!accepts_extents(planned)) return false;
    if (bytes_of_problem(on_chip_with(planned)) > most_bytes_on_chip) return false;
    if (!accepts_lines(planned)) return false;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
        const SymbolId id = call.operands[i];
        if (match.accesses[i].kind == Access::Kind::row && of_rows_.count(id) > 0) continue;
        if (lines_may_follow_ && lacks_total(id, match.accesses[i])) continue;
        const bool of_others =
            reads_others(match.accesses[i]) && !may_be_tile(id, match.accesses[i]);
        if (summed_.count(id) > 0 || (of_others && written_.count(id) > 0)) return false;
    }
    return std::none_of(call.results.begin(), call.results.end(), [&](SymbolId id) {
        // A scalar has one value in a kernel, since all threads read it at any time.
        return read_by_others_.count(id) > 0 || ((*program_)[id].type.is_scalar() &&
                                                 (loaded_.count(id) > 0 || written_.count(id) > 0));
    });
}

void KernelBuilder::add(const PlannedCall& planned) {
    const Call& call = *planned.call;
    const Match& match = planned.match;
    const Type elements = elements_of(call, match);
    if (elements.rank > 0 && kernel_.elements.rank > 0 && elements != kernel_.elements) {
        has_several_extents_ = true;
    }
    if (elements.rank > kernel_.elements.rank || kernel_.calls.empty()) kernel_.elements = elements;
    kernel_.on_chip = on_chip_with(planned);
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
        const SymbolId id = call.operands[i];
        if ((*program_)[id].source == Source::known) continue;
        if (written_.count(id) == 0) loaded_.insert(id);
        if (reads_others(match.accesses[i]) && !may_be_tile(id, match.accesses[i])) {
            read_by_others_.insert(id);
        }
        lacks_totals_ = lacks_totals_ || lacks_total(id, match.accesses[i]);
    }
    const bool after_rows = comes_after_rows(planned);
    for (const SymbolId id : call.results) {
        written_.insert(id);
        of_rows_.erase(id);
        if (match.level == Level::sum) summed_.insert(id);
        if (match.level == Level::row || (after_rows && is_of_vectors(planned))) {
            of_rows_.insert(id);
        } else if (after_rows) {
            after_rows_.insert(id);
        }
    }
    kernel_.calls.push_back(planned);
}

Kernel KernelBuilder::finish(const SymbolSet& live) {
    const auto bytes_of = [&](SymbolId id) { return double((*program_)[id].type.bytes()); };
    for (const SymbolId id : loaded_) {
        kernel_.loads.push_back(id);
        kernel_.bytes += bytes_of(id);
    }
    for (const SymbolId id : written_) {
        const bool lives = live.count(id) > 0;
        (lives ? kernel_.stores : kernel_.registers).push_back(id);
        if (lives) kernel_.bytes += bytes_of(id);
    }
    for (const PlannedCall& planned : kernel_.calls) {
        const Type elements = elements_of(*planned.call, planned.match);
        kernel_.flops += planned.match.flops * double(elements.size());
    }
    kernel_.parts = tile_parts(kernel_);
    kernel_.exchanges = fusion_ != Fusion::none && exchanges(live);
    Kernel done = std::move(kernel_);
    *this = KernelBuilder(*program_, fusion_, lines_may_follow_, tiles_from_);
    return done;
}

/// Whether all calls copy arrays of the program's own that nobody reads later.
bool KernelBuilder::exchanges(const SymbolSet& live) const {
    SymbolSet met;
    return std::all_of(kernel_.calls.begin(), kernel_.calls.end(), [&](const PlannedCall& one) {
        const SymbolId to = one.call->results[0];
        return one.call->operation == "copy" && met.insert(to).second && [&] {
            const SymbolId from = one.call->operands[0];
            const Symbol& symbol = (*program_)[from];
            return (symbol.type.kind == Kind::array || symbol.type.kind == Kind::batch) &&
                   symbol.source == Source::local && live.count(from) == 0 &&
                   met.insert(from).second;
        }();
    });
}

/// Strips of vectors and volumes have other neighbours.
bool KernelBuilder::may_be_tile(SymbolId id, const Access& access) const {
    constexpr int most = 1 << 16;  // More do not fit, and sums of them need not fit an int.
    const Type& type = (*program_)[id].type;
    return fusion_ == Fusion::planned && access.of_tiles && type.rank == 2 &&
           double(type.bytes()) >= tiles_from_ &&
           std::max({access.above, access.below, access.left, access.right}) <= most;
}

/// Whether a row reads an entry of a vector that the kernel makes, but not of sums of rows.
bool KernelBuilder::lacks_total(SymbolId id, const Access& access) const {
    return access.kind == Access::Kind::row && written_.count(id) > 0 && of_rows_.count(id) == 0;
}

/// Whether a call reads the sum of its row, or what does.
bool KernelBuilder::comes_after_rows(const PlannedCall& planned) const {
    const std::vector<SymbolId>& operands = planned.call->operands;
    return std::any_of(operands.begin(), operands.end(), [&](SymbolId id) {
        return of_rows_.count(id) > 0 || after_rows_.count(id) > 0;
    });
}

/// Calls run over the same extents; those on vectors beside others only if these add up rows or
/// columns of an image, along whose sides the vectors lie.
bool KernelBuilder::accepts_extents(const PlannedCall& planned) const {
    const Type elements = elements_of(*planned.call, planned.match);
    if (elements.rank == 0 || kernel_.elements.rank == 0) return true;
    if (elements == kernel_.elements && !has_several_extents_) return true;
    std::vector<const PlannedCall*> calls;
    for (const PlannedCall& one : kernel_.calls) calls.push_back(&one);
    calls.push_back(&planned);
    const Type& image = elements.rank > kernel_.elements.rank ? elements : kernel_.elements;
    bool has_lines = lines_may_follow_;
    for (const PlannedCall* one : calls) {
        const Type own = elements_of(*one->call, one->match);
        if (own.rank == 1 ? !is_of_vectors(*one) : own.rank > 1 && own != image) return false;
        has_lines = has_lines || adds_lines(one->match.level);
    }
    if (!has_lines || image.rank > 2) return false;
    if (image.rank == 1) return true;
    const std::vector<unsigned> sides = sides_of(calls, image);
    return std::find(sides.begin(), sides.end(), 0U) == sides.end();
}

/// What adds rows or columns up has another walk than other sums. Calls after sums of rows read the
/// row a second time, from the chip.
bool KernelBuilder::accepts_lines(const PlannedCall& planned) const {
    const auto has = [&](auto&& is_such) {
        return is_such(planned.match.level) ||
               std::any_of(kernel_.calls.begin(), kernel_.calls.end(),
                           [&](const PlannedCall& one) { return is_such(one.match.level); });
    };
    if (!has(adds_lines)) return true;
    if (has([](Level level) { return level == Level::sum; })) return false;
    const bool after_rows = comes_after_rows(planned) && !is_of_vectors(planned);
    if (after_rows && planned.match.level == Level::row) return false;
    if (!after_rows && after_rows_.empty()) return true;
    SymbolSet row;
    const auto add = [&](const PlannedCall& one) {
        for (std::size_t i = 0; i < one.call->operands.size(); ++i) {
            const SymbolId id = one.call->operands[i];
            const bool point = one.match.accesses[i].kind == Access::Kind::point;
            const bool loaded = loaded_.count(id) > 0 || written_.count(id) == 0;
            if (point && loaded && (*program_)[id].type.rank == 2) row.insert(id);
        }
    };
    for (const PlannedCall& one : kernel_.calls) add(one);
    add(planned);
    index_t bytes = 0;
    for (const SymbolId id : row) {
        bytes += kernel_.elements.extent[1] * bytes_of((*program_)[id].type.dtype);
    }
    return bytes <= most_bytes_of_row;
}

/// The extents over which a call runs, of numbers of any type.
Type KernelBuilder::elements_of(const Call& call, const Match& match) const {
    Type type = match.level == Level::sum || adds_lines(match.level)
                    ? (*program_)[call.operands[0]].type
                    : match.results[0];
    type.dtype = Dtype::boolean;
    if (type.kind == Kind::batch) {
        type.rank = 1;
        type.extent = {type.extent[0]};
    }
    return type;
}

/// What is on chip with another call. Operations at other levels access batches in memory.
std::vector<OnChip> KernelBuilder::on_chip_with(const PlannedCall& planned) const {
    std::vector<OnChip> all = kernel_.on_chip;
    if (planned.match.level != Level::block) return all;
    const auto add = [&](SymbolId id) {
        const bool is_there =
            std::any_of(all.begin(), all.end(), [&](const OnChip& one) { return one.id == id; });
        const Type& type = (*program_)[id].type;
        if (type.kind == Kind::batch && !is_there) all.push_back({id, type});
    };
    for (const SymbolId id : planned.call->operands) add(id);
    for (const SymbolId id : planned.call->results) add(id);
    const Type& workspace = planned.match.workspace;
    if (workspace.kind == Kind::batch) all.push_back({-1, workspace});
    return all;
}

}  // namespace aperture::compose
