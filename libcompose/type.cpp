// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/compose/type.hpp"

#include <algorithm>

#include "aperture/core/error.hpp"

namespace aperture::compose {
namespace {

struct DtypeTraits {
    Dtype dtype;
    std::string_view name;
    int bytes;
    Dtype real;
};
constexpr std::array dtypes{
    DtypeTraits{Dtype::f32, "f32", 4, Dtype::f32},
    DtypeTraits{Dtype::f64, "f64", 8, Dtype::f64},
    DtypeTraits{Dtype::c64, "c64", 8, Dtype::f32},
    DtypeTraits{Dtype::c128, "c128", 16, Dtype::f64},
    DtypeTraits{Dtype::i64, "i64", 8, Dtype::i64},
    DtypeTraits{Dtype::boolean, "bool", 1, Dtype::boolean},
};

const DtypeTraits& traits(Dtype dtype) { return dtypes[static_cast<std::size_t>(dtype)]; }

Type extended(Kind kind, Dtype dtype, const std::vector<index_t>& extents) {
    Type type{kind, dtype, static_cast<int>(extents.size()), {}};
    // Products of extents, and of bytes, must not overflow.
    constexpr index_t most = index_t{1} << 40;
    index_t size = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        core::expects(extents[i] >= 0 && extents[i] <= most, name_of(kind), " with an extent of ",
                      extents[i]);
        type.extent[i] = extents[i];
        size *= std::max<index_t>(extents[i], 1);
        core::expects(size <= most, name_of(kind), " of more than 2^40 numbers");
    }
    return type;
}

}  // namespace

std::string_view name_of(Dtype dtype) { return traits(dtype).name; }

std::optional<Dtype> dtype_named(std::string_view name) {
    for (const DtypeTraits& one : dtypes) {
        if (one.name == name) return one.dtype;
    }
    return std::nullopt;
}

int bytes_of(Dtype dtype) { return traits(dtype).bytes; }
bool is_complex(Dtype dtype) { return traits(dtype).real != dtype; }
Dtype real_of(Dtype dtype) { return traits(dtype).real; }

std::string_view name_of(Kind kind) {
    switch (kind) {
        case Kind::scalar:
            return "scalar";
        case Kind::constant:
            return "constant";
        case Kind::iteration:
            return "iteration";
        case Kind::array:
            return "array";
        case Kind::batch:
            return "batch";
        case Kind::stencil:
            return "stencil";
        case Kind::diagonals:
            return "diagonals";
        case Kind::image_diagonals:
            return "image_diagonals";
    }
    return "";
}

index_t Type::size() const {
    index_t product = 1;  // Of a scalar, too.
    for (int i = 0; i < rank; ++i) product *= extent[static_cast<std::size_t>(i)];
    return product;
}

Type type_of(Kind kind, Dtype dtype, const std::vector<index_t>& extents) {
    const auto rank = extents.size();
    const auto ranks = [&](std::size_t least, std::size_t most) {
        core::expects(rank >= least && rank <= most, name_of(kind), " with ", rank,
                      " extents; expected ", least, least == most ? "" : core::text(" to ", most));
    };
    switch (kind) {
        case Kind::scalar:
        case Kind::constant:
        case Kind::iteration:
        case Kind::stencil:
            ranks(0, 0);
            return {kind, dtype, 0, {}};
        case Kind::array:
            ranks(1, 3);
            break;
        case Kind::batch:
            ranks(2, 3);
            break;
        case Kind::diagonals:
            ranks(2, 2);
            break;
        case Kind::image_diagonals:
            ranks(3, 3);
            break;
    }
    return extended(kind, dtype, extents);
}
Type scalar(Dtype dtype) { return {Kind::scalar, dtype, 0, {}}; }
Type array(Dtype dtype, const std::vector<index_t>& extents) {
    return type_of(Kind::array, dtype, extents);
}
Type batch(Dtype dtype, const std::vector<index_t>& extents) {
    return type_of(Kind::batch, dtype, extents);
}

std::string text_of(const Offset& offset) {
    return core::text('(', offset.rank == 3 ? core::text(offset.plane, ", ") : "",
                      offset.rank >= 2 ? core::text(offset.row, ", ") : "", offset.column, ')');
}

std::string text_of(const Type& type) {
    std::string text = core::text(name_of(type.kind), ' ', name_of(type.dtype));
    for (int i = 0; i < type.rank; ++i) {
        text += core::text(i == 0 ? "[" : ", ", type.extent[static_cast<std::size_t>(i)]);
    }
    return type.rank > 0 ? text + "]" : text;
}

}  // namespace aperture::compose
