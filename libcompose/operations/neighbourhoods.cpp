// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {

using core::expects;

void expects_reals(const CallSite& site, std::size_t i, int rank) {
    const Type& type = site.type(i);
    expects(type.kind == Kind::array && type.rank == rank &&
                (type.dtype == Dtype::f32 || type.dtype == Dtype::f64),
            site.call.operation, " of ", text_of(type), "; expected an array of rank ", rank,
            ", f32 or f64");
}

namespace {

/// stencil_product(S, x): at each place, weights times neighbours, added in the order of the
/// stencil.
class StencilProduct : public Operation {
  public:
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects(site.operands() == 2 && site.type(0).kind == Kind::stencil,
                "stencil_product has a stencil and an array as operands");
        const Stencil& stencil = site.operand(0).stencil;
        expects(!stencil.offsets.empty() && stencil.offsets.size() == stencil.weights.size(),
                site.operand(0).name, " has ", stencil.offsets.size(), " offsets and ",
                stencil.weights.size(), " weights");
        expects_reals(site, 1, stencil.offsets.front().rank);
        expects(site.type(0).dtype == site.type(1).dtype, "stencil_product of ",
                text_of(site.type(0)), " and ", text_of(site.type(1)),
                ": their numbers have different types");
        Access halo{.kind = Access::Kind::halo, .of_tiles = true};
        for (const Offset& offset : stencil.offsets) {
            for (const index_t steps : {offset.plane, offset.row, offset.column}) {
                constexpr int most = 1 << 30;
                expects(std::abs(steps) <= most, site.operand(0).name, " has an offset of ",
                        text_of(offset));
            }
            halo.above = std::max(halo.above, -offset.row);
            halo.below = std::max(halo.below, offset.row);
            halo.left = std::max(halo.left, -offset.column);
            halo.right = std::max(halo.right, offset.column);
        }
        return {Level::element, {site.type(1)}, {{}, halo}, 2.0 * double(stencil.offsets.size())};
    }

    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        if (site.type(1).dtype == Dtype::f32) {
            add_products<float>(site.operand(0).stencil, piece, operands[1], results[0]);
        } else {
            add_products<double>(site.operand(0).stencil, piece, operands[1], results[0]);
        }
    }

    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        const Stencil& stencil = site.operand(0).stencil;
        std::string call = core::text(
            "bodies::stencil<bodies::", stencil.border == Border::zero ? "Zero" : "Replicate",
            ">(at, ", operands[1]);
        for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
            const Offset& offset = stencil.offsets[k];
            call +=
                core::text(", bodies::tap<", offset.rank == 3 ? core::text(offset.plane, ", ") : "",
                           offset.row, ", ", offset.column, ">(",
                           literal(site.type(0).dtype, stencil.weights[k]), ")");
        }
        return {call + ")"};
    }

  private:
    template <class T>
    static void add_products(const Stencil& stencil, const RowPiece& piece, const RowOperand& array,
                             void* result) {
        const auto rank = static_cast<std::size_t>(array.type.rank);
        const index_t columns = array.type.extent[rank - 1];
        const index_t rows = rank == 1 ? 1 : array.type.extent[rank - 2];
        const index_t planes = rank == 3 ? array.type.extent[0] : 1;
        auto* const to = static_cast<T*>(result);
        for (std::size_t k = 0; k < stencil.offsets.size(); ++k) {
            const T weight = static_cast<T>(stencil.weights[k]);
            const index_t plane = piece.plane + stencil.offsets[k].plane;
            const index_t row = piece.row + stencil.offsets[k].row;
            const index_t inner_plane = std::clamp<index_t>(plane, 0, planes - 1);
            const index_t inner_row = std::clamp<index_t>(row, 0, rows - 1);
            const bool beyond =
                stencil.border == Border::zero && (plane != inner_plane || row != inner_row);
            const T* const from =
                static_cast<const T*>(array.all) + (inner_plane * rows + inner_row) * columns;
            const index_t first = piece.column + stencil.offsets[k].column;
            const auto add = [&](int i, T value) {
                to[i] = k == 0 ? weight * value : std::fma(weight, value, to[i]);
            };
            const auto at_border = [&](int begin, int end) {
                for (int i = begin; i < end; ++i) {
                    const index_t column = std::clamp<index_t>(first + i, 0, columns - 1);
                    const bool zero =
                        beyond || (stencil.border == Border::zero && column != first + i);
                    add(i, zero ? T(0) : from[column]);
                }
            };
            const int begin = beyond
                                  ? piece.count
                                  : static_cast<int>(std::clamp<index_t>(-first, 0, piece.count));
            const int end =
                static_cast<int>(std::clamp<index_t>(columns - first, begin, piece.count));
            at_border(0, begin);
            if (k == 0) {
                for (int i = begin; i < end; ++i) to[i] = weight * from[first + i];
            } else {
                for (int i = begin; i < end; ++i) to[i] = std::fma(weight, from[first + i], to[i]);
            }
            at_border(end, piece.count);
        }
    }
};

/// red(x) has the entries of x where row + column is even, black(x) the others; zeros elsewhere.
class Checkered : public Operation {
  public:
    explicit Checkered(int remainder) : remainder_(remainder) {}

    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects(site.operands() == 1, site.call.operation, " has one operand");
        expects_reals(site, 0);
        return {Level::element, {site.type(0)}, {{}}, 0};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        if (site.type(0).dtype == Dtype::f32) {
            filter<float>(piece, operands[0].here, results[0]);
        } else {
            filter<double>(piece, operands[0].here, results[0]);
        }
    }

    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {core::text("bodies::checkered<", remainder_, ">(at, ", operands[0], ")")};
    }

  private:
    template <class T>
    void filter(const RowPiece& piece, const void* from, void* to) const {
        for (int i = 0; i < piece.count; ++i) {
            const bool passes = (piece.row + piece.column + i) % 2 == remainder_;
            static_cast<T*>(to)[i] = passes ? static_cast<const T*>(from)[i] : T(0);
        }
    }

    int remainder_;
};

}  // namespace

void add_neighbourhoods(Registry& registry) {
    registry.add("stencil_product", std::make_shared<StencilProduct>());
    registry.add("red", std::make_shared<Checkered>(0));
    registry.add("black", std::make_shared<Checkered>(1));
}

}  // namespace aperture::compose
