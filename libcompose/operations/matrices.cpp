// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#define APERTURE_COMPOSE_CPU
#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"
#include "libcompose/emit.hpp"
#include "libcompose/kernels/elements.cuh"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"
#include "libcompose/operations/matrix_bodies.cuh"

namespace aperture::compose {
namespace {

using core::expects;

void expects_real(const CallSite& site, std::size_t i) {
    const Dtype dtype = site.type(i).dtype;
    expects(dtype == Dtype::f32 || dtype == Dtype::f64, site.call.operation, " of ",
            text_of(site.type(i)), "; expected f32 or f64");
}

/// An operation on entries whose operands are read anywhere. A derived class has `match`, `code`,
/// and entry<T>(site, place, operands), the result in a place.
template <class Derived>
class EntryOperation : public Operation {
  public:
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        if (site.type(0).dtype == Dtype::f32) {
            compute<float>(site, piece, operands, results[0]);
        } else {
            compute<double>(site, piece, operands, results[0]);
        }
    }

  protected:
    template <class T>
    static const T* all(const RowOperand& operand) {
        return static_cast<const T*>(operand.all);
    }

  private:
    template <class T>
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 void* result) const {
        const kernels::Walk walk = walk_over(site.program[site.call.results[0]].type);
        const kernels::Place<false> first(walk, piece.plane * walk.rows_of_plane + piece.row);
        for (int i = 0; i < piece.count; ++i) {
            static_cast<T*>(result)[i] = static_cast<const Derived*>(this)->template entry<T>(
                site, first.moved(piece.column + i, 0), operands);
        }
    }
};

constexpr Access whole{Access::Kind::whole};

/// transposed_image(x)
class TransposedImage : public EntryOperation<TransposedImage> {
  public:
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects(site.operands() == 1, site.call.operation, " has one operand");
        expects_reals(site, 0);
        const Type& of = site.type(0);
        return {Level::element, {array(of.dtype, {of.extent[1], of.extent[0]})}, {whole}, 0};
    }
    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {core::text("bodies::transposed_entry(at, ", operands[0], ")")};
    }
    template <class T>
    T entry(const CallSite&, const kernels::Place<false>& at,
            std::span<const RowOperand> operands) const {
        return bodies::transposed_entry(at, all<T>(operands[0]));
    }
};

/// matrix_matrix(A, B), of arrays [row][column]
class MatrixMatrix : public EntryOperation<MatrixMatrix> {
  public:
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        const std::string& name = site.call.operation;
        expects(site.operands() == 2, name, " has two matrices as operands");
        const Type &a = site.type(0), &b = site.type(1);
        expects_reals(site, 0);
        expects_reals(site, 1);
        expects(a.dtype == b.dtype && a.extent[1] == b.extent[0], name, " of ", text_of(a), " and ",
                text_of(b));
        return {Level::element,
                {array(a.dtype, {a.extent[0], b.extent[1]})},
                {whole, whole},
                2.0 * double(a.extent[1])};
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {core::text("bodies::matrix_entry(at, ", operands[0], ", ", operands[1], ", ",
                           site.type(0).extent[1], "LL)")};
    }
    template <class T>
    T entry(const CallSite& site, const kernels::Place<false>& at,
            std::span<const RowOperand> operands) const {
        return bodies::matrix_entry(at, all<T>(operands[0]), all<T>(operands[1]),
                                    site.type(0).extent[1]);
    }
};

/// matrix_vector(A, x): A is an array [row][column], or diagonals.
class MatrixVector : public EntryOperation<MatrixVector> {
  public:
    Match match(const CallSite& site) const override {
        if (!has_diagonals(site)) return dense_->match(site);
        const CallAttributes none(site, {});
        expects(site.operands() == 2, site.call.operation,
                " has a matrix and a vector as operands");
        const Type &a = site.type(0), &x = site.type(1);
        expects_real(site, 0);
        const Type of = a.kind == Kind::image_diagonals ? array(a.dtype, {a.extent[1], a.extent[2]})
                                                        : array(a.dtype, {a.extent[1]});
        expects(x == of, site.call.operation, " of ", text_of(a), " and ", text_of(x),
                "; expected ", text_of(of));
        Access halo{.kind = Access::Kind::halo, .of_tiles = true};
        for (const Offset& offset : offsets(site)) {
            halo.above = std::max(halo.above, -offset.row);
            halo.below = std::max(halo.below, offset.row);
            halo.left = std::max(halo.left, -offset.column);
            halo.right = std::max(halo.right, offset.column);
        }
        return {Level::element, {of}, {whole, halo}, 2.0 * double(a.extent[0])};
    }
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        if (!has_diagonals(site)) return dense_->compute(site, piece, operands, results);
        EntryOperation::compute(site, piece, operands, results);
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string> results) const override {
        if (!has_diagonals(site)) return dense_->code(site, operands, results);
        std::string call = core::text("bodies::diagonal_product(at, ", operands[0], ", ",
                                      operands[1], ", ", site.type(1).size(), "LL");
        for (const Offset& offset : offsets(site)) {
            call += core::text(", bodies::DiagonalAt<", offset.row, ", ", offset.column, ">()");
        }
        return {call + ")"};
    }
    template <class T>
    T entry(const CallSite& site, const kernels::Place<false>& at,
            std::span<const RowOperand> operands) const {
        const T* const x = all<T>(operands[1]);
        T sum = 0;
        const T* number = all<T>(operands[0]) + at.here;
        for (const index_t offset : site.operand(0).offsets) {
            const Offset place = split(site.type(0), offset);
            sum = bodies::add_diagonal(at, sum, *number, x, place.row, place.column);
            number += site.type(1).size();
        }
        return sum;
    }

  private:
    static bool has_diagonals(const CallSite& site) {
        return site.operands() > 0 &&
               (site.type(0).kind == Kind::diagonals || site.type(0).kind == Kind::image_diagonals);
    }
    /// Rows down and columns to the right, at most half of a row to either side.
    static Offset split(const Type& type, index_t offset) {
        if (type.kind == Kind::diagonals) return {0, static_cast<int>(offset)};
        const index_t columns = std::max<index_t>(type.extent[2], 1);
        const index_t from_left = offset + (columns - 1) / 2;
        const index_t row =
            from_left >= 0 ? from_left / columns : -((columns - 1 - from_left) / columns);
        return {static_cast<int>(row), static_cast<int>(offset - row * columns)};
    }
    static std::vector<Offset> offsets(const CallSite& site) {
        constexpr index_t most = 1 << 30;
        std::vector<Offset> all;
        for (const index_t offset : site.operand(0).offsets) {
            expects(std::abs(offset) <= most, site.operand(0).name, " has an offset of ", offset);
            all.push_back(split(site.type(0), offset));
        }
        return all;
    }

    std::unique_ptr<Operation> dense_ = dense_matrix_vector();
};

/// compressed_rows_vector(numbers, starts, columns, x): the matrix has entries numbers[i] in column
/// columns[i] of row r, for i from starts[r] to starts[r + 1] - 1.
class CompressedRowsVector : public EntryOperation<CompressedRowsVector> {
  public:
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        const std::string& name = site.call.operation;
        expects(site.operands() == 4, name,
                " has numbers, starts of rows, columns and a vector as operands");
        for (std::size_t i = 0; i < 4; ++i) {
            const Type& type = site.type(i);
            expects(type.kind == Kind::array && type.rank == 1, name, " of ", text_of(type),
                    "; expected an array of rank 1");
            const bool index = i == 1 || i == 2;
            expects(type.dtype == (index ? Dtype::i64 : site.type(0).dtype), name, " of ",
                    text_of(site.type(0)), " and ", text_of(type), "; expected ",
                    name_of(index ? Dtype::i64 : site.type(0).dtype));
        }
        expects_real(site, 0);
        const index_t entries = site.type(0).extent[0], starts = site.type(1).extent[0];
        expects(site.type(2).extent[0] == entries, name, " of ", entries, " numbers in ",
                site.type(2).extent[0], " columns");
        expects(starts >= 1, name, " of no start of a row; expected one more than rows");
        return {Level::element,
                {array(site.type(0).dtype, {starts - 1})},
                {whole, whole, whole, whole},
                starts > 1 ? 2.0 * double(entries) / double(starts - 1) : 0};
    }
    Code code(const CallSite& site, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {core::text("bodies::compressed_product(at, ", operands[0], ", ", operands[1], ", ",
                           operands[2], ", ", operands[3], ", ", site.type(0).extent[0], "LL, ",
                           site.type(3).extent[0], "LL)")};
    }
    template <class T>
    T entry(const CallSite& site, const kernels::Place<false>& at,
            std::span<const RowOperand> operands) const {
        return bodies::compressed_product(at, all<T>(operands[0]), all<long long>(operands[1]),
                                          all<long long>(operands[2]), all<T>(operands[3]),
                                          site.type(0).extent[0], site.type(3).extent[0]);
    }
};

}  // namespace

void add_matrices(Registry& registry) {
    registry.add("transposed_image", std::make_shared<TransposedImage>());
    registry.add("matrix_matrix", std::make_shared<MatrixMatrix>());
    registry.add("matrix_vector", std::make_shared<MatrixVector>());
    registry.add("compressed_rows_vector", std::make_shared<CompressedRowsVector>());
}

}  // namespace aperture::compose
