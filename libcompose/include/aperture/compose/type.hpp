// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aperture/core/extents.hpp"

/// Types of what programs compute with.
namespace aperture::compose {

using core::index_t;

enum class Dtype { f32, f64, c64, c128, i64, boolean };

std::string_view name_of(Dtype dtype);
std::optional<Dtype> dtype_named(std::string_view name);
int bytes_of(Dtype dtype);
bool is_complex(Dtype dtype);
/// f32 of c64, f64 of c128, else the same.
Dtype real_of(Dtype dtype);

template <class T>
concept Number =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::complex<float>> ||
    std::same_as<T, std::complex<double>> || std::same_as<T, std::int64_t> || std::same_as<T, bool>;

template <Number T>
constexpr Dtype dtype_of() {
    if constexpr (std::same_as<T, float>) return Dtype::f32;
    if constexpr (std::same_as<T, double>) return Dtype::f64;
    if constexpr (std::same_as<T, std::complex<float>>) return Dtype::c64;
    if constexpr (std::same_as<T, std::complex<double>>) return Dtype::c128;
    if constexpr (std::same_as<T, std::int64_t>) return Dtype::i64;
    if constexpr (std::same_as<T, bool>) return Dtype::boolean;
}

/// What a symbol is (Anderson 2014, section 5.5, and batches of Fousek et al.).
enum class Kind {
    scalar,           ///< a number
    constant,         ///< an integer that is known when the program is compiled
    iteration,        ///< an integer that a loop sets
    array,            ///< of rank 1 to 3
    batch,            ///< small matrices [problem][row][column] or vectors [problem][row]
    stencil,          ///< weights of neighbours, known when the program is compiled
    diagonals,        ///< square sparse matrix by diagonals: [diagonal][row]
    image_diagonals,  ///< the same for vectors that are images: [diagonal][row][column]
};

std::string_view name_of(Kind kind);

/// A kind, the type of its numbers, and its extents: those of an array, a batch or of diagonals.
struct Type {
    Kind kind = Kind::scalar;
    Dtype dtype = Dtype::f32;
    int rank = 0;
    std::array<index_t, 3> extent{};

    friend bool operator==(const Type&, const Type&) = default;
    /// Numbers in all.
    index_t size() const;
    /// Bytes in all.
    index_t bytes() const { return size() * bytes_of(dtype); }
    /// Of a batch: numbers of one problem, and its extents; a vector has one column.
    index_t numbers_of_problem() const { return rows() * columns(); }
    index_t rows() const { return extent[1]; }
    index_t columns() const { return rank == 3 ? extent[2] : 1; }
    bool is_scalar() const {
        return kind == Kind::scalar || kind == Kind::constant || kind == Kind::iteration;
    }
};

/// Throws InvalidArgument if such a type has not these extents, or would be too large.
Type type_of(Kind kind, Dtype dtype, const std::vector<index_t>& extents);
Type scalar(Dtype dtype);
Type array(Dtype dtype, const std::vector<index_t>& extents);
Type batch(Dtype dtype, const std::vector<index_t>& extents);

/// As programs write it: "array f32[480, 640]".
std::string text_of(const Type& type);

/// What is read beyond an array's border.
enum class Border { replicate, zero };

/// From a place to a neighbour, in each dimension of an array of rank 1, 2 or 3.
struct Offset {
    Offset(int to_column) : rank(1), column(to_column) {}
    Offset(int to_row, int to_column) : rank(2), row(to_row), column(to_column) {}
    Offset(int to_plane, int to_row, int to_column)
        : rank(3), plane(to_plane), row(to_row), column(to_column) {}

    int rank;
    int plane = 0, row = 0, column;
    friend bool operator==(const Offset&, const Offset&) = default;
};
/// As programs write it: "(-1, 0)".
std::string text_of(const Offset& offset);

/// Weights of neighbours, in the order in which products are added.
struct Stencil {
    Border border = Border::replicate;
    std::vector<Offset> offsets;  ///< of one rank
    std::vector<double> weights;
    friend bool operator==(const Stencil&, const Stencil&) = default;
};

}  // namespace aperture::compose
