// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/core/error.hpp"
#include "libcompose/operations/bodies.cuh"
#include "libcompose/operations/call_attributes.hpp"
#include "libcompose/operations/element_operations.hpp"

namespace aperture::compose {
namespace {

using core::Complex;
using core::expects;

/// Computes a piece of a row of numbers of one type.
using PieceLoop = void (*)(const RowPiece& piece, std::span<const RowOperand> operands,
                           void* result);
/// By the numbers' type; null where there is none.
using PieceLoops = std::array<PieceLoop, 6>;

template <template <class> class Loop>
constexpr PieceLoops loops() {
    return {Loop<float>::run,           Loop<double>::run, Loop<Complex<float>>::run,
            Loop<Complex<double>>::run, nullptr,           nullptr};
}

/// The numbers of the columns, or of the lanes for sums of rows, to which entries are added.
template <bool of_rows>
constexpr int place_of(int i) {
    constexpr int lanes = 32;
    return of_rows ? i % lanes : i;
}
template <bool of_rows>
struct Entries {
    template <class T>
    struct Loop {
        static void run(const RowPiece& piece, std::span<const RowOperand> operands, void* result) {
            const auto* const entries = static_cast<const T*>(operands[0].here);
            auto* const sums = static_cast<T*>(result);
            for (int i = 0; i < piece.count; ++i) {
                T& sum = sums[place_of<of_rows>(i)];
                sum = sum + entries[i];
            }
        }
    };
};
template <bool of_rows>
struct Products {
    template <class T>
    struct Loop {
        static void run(const RowPiece& piece, std::span<const RowOperand> operands, void* result) {
            const auto* const entries = static_cast<const T*>(operands[0].here);
            const auto* const x = static_cast<const T*>(operands[1].all);
            auto* const sums = static_cast<T*>(result);
            for (int i = 0; i < piece.count; ++i) {
                T& sum = sums[place_of<of_rows>(i)];
                const T factor = of_rows ? x[piece.column + i] : x[piece.row];
                sum = sum + bodies::product(entries[i], factor);
            }
        }
    };
};
template <class T>
struct OuterLoop {
    static void run(const RowPiece& piece, std::span<const RowOperand> operands, void* result) {
        const auto* const u = static_cast<const T*>(operands[0].all);
        const auto* const v = static_cast<const T*>(operands[1].all);
        for (int i = 0; i < piece.count; ++i) {
            static_cast<T*>(result)[i] = bodies::product(u[piece.row], v[piece.column + i]);
        }
    }
};

void expects_numbers(const CallSite& site, std::size_t i, int rank) {
    const Type& type = site.type(i);
    expects(type.kind == Kind::array && type.rank == rank && type.dtype != Dtype::i64 &&
                type.dtype != Dtype::boolean,
            site.call.operation, " of ", text_of(type), "; expected an array of rank ", rank,
            " of f32, f64, c64 or c128");
    expects(type.dtype == site.type(0).dtype, site.call.operation, " of ", text_of(site.type(0)),
            " and ", text_of(type));
}
void expects_operands(const CallSite& site, std::size_t count) {
    const CallAttributes none(site, {});
    expects(site.operands() == count, site.call.operation, " has ", count,
            count == 1 ? " operand" : " operands");
}

/// Has loops for types of numbers, and an expression.
class TypedOperation : public Operation {
  public:
    TypedOperation(const char* term, const PieceLoops& piece_loops)
        : term_(term), loops_(piece_loops) {}
    void compute(const CallSite& site, const RowPiece& piece, std::span<const RowOperand> operands,
                 std::span<void* const> results) const override {
        loops_[std::size_t(site.type(0).dtype)](piece, operands, results[0]);
    }
    Code code(const CallSite&, std::span<const std::string> operands,
              std::span<const std::string>) const override {
        return {core::text("bodies::", term_, "::of(", operands[0],
                           operands.size() > 1 ? ", " + operands[1] : "", ")")};
    }

  private:
    const char* term_;
    PieceLoops loops_;
};

/// row_sums(A), column_sums(A)
template <Level level>
class LineSums : public TypedOperation {
  public:
    LineSums() : TypedOperation("Copy", loops<Entries<level == Level::row>::template Loop>()) {}
    Match match(const CallSite& site) const override {
        expects_operands(site, 1);
        expects_numbers(site, 0, 2);
        const Type& of = site.type(0);
        return {level, {array(of.dtype, {of.extent[level == Level::row ? 0 : 1]})}, {{}}, 1};
    }
};

/// matrix_vector(A, x), transposed_matrix_vector(A, x), of a dense matrix.
template <Level level>
class DenseProduct : public TypedOperation {
  public:
    DenseProduct()
        : TypedOperation("Multiply", loops<Products<level == Level::row>::template Loop>()) {}
    Match match(const CallSite& site) const override {
        const CallAttributes none(site, {});
        expects(site.operands() == 2, site.call.operation,
                " has a matrix and a vector as operands");
        expects_numbers(site, 0, 2);
        const Type &a = site.type(0), &x = site.type(1);
        const bool of_rows = level == Level::row;
        const Type expected = array(a.dtype, {a.extent[of_rows ? 1 : 0]});
        expects(x == expected, site.call.operation, " of ", text_of(a), " and ", text_of(x),
                "; expected ", text_of(expected));
        return {level,
                {array(a.dtype, {a.extent[of_rows ? 0 : 1]})},
                {{}, {of_rows ? Access::Kind::column : Access::Kind::row}},
                2};
    }
};

/// outer_product(u, v)
class OuterProduct : public TypedOperation {
  public:
    OuterProduct() : TypedOperation("Multiply", loops<OuterLoop>()) {}
    Match match(const CallSite& site) const override {
        expects_operands(site, 2);
        expects_numbers(site, 0, 1);
        expects_numbers(site, 1, 1);
        const Type& u = site.type(0);
        return {Level::element,
                {array(u.dtype, {u.extent[0], site.type(1).extent[0]})},
                {{Access::Kind::row}, {Access::Kind::column}},
                1};
    }
};

}  // namespace

std::unique_ptr<Operation> dense_matrix_vector() {
    return std::make_unique<DenseProduct<Level::row>>();
}

void add_lines(Registry& registry) {
    registry.add("row_sums", std::make_shared<LineSums<Level::row>>());
    registry.add("column_sums", std::make_shared<LineSums<Level::column>>());
    registry.add("transposed_matrix_vector", std::make_shared<DenseProduct<Level::column>>());
    registry.add("outer_product", std::make_shared<OuterProduct>());
}

}  // namespace aperture::compose
