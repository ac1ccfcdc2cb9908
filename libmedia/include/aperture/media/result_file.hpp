// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/core/view.hpp"
#include "aperture/media/atomic_file.hpp"

namespace aperture::media {

/// One typed column of a table; all columns have the same length.
struct Column {
    std::string name;
    std::variant<std::vector<std::int64_t>, std::vector<double>, std::vector<float>,
                 std::vector<std::string>>
        values;
    std::string units{};  ///< "Hz", "degrees"; empty if it has none
};

namespace detail {
enum class Element { complex64, complex128, float32, float64, int32, int64, uint8 };
template <class T>
constexpr Element element_of() = delete;
template <>
constexpr Element element_of<std::complex<float>>() {
    return Element::complex64;
}
template <>
constexpr Element element_of<std::complex<double>>() {
    return Element::complex128;
}
template <>
constexpr Element element_of<float>() {
    return Element::float32;
}
template <>
constexpr Element element_of<double>() {
    return Element::float64;
}
template <>
constexpr Element element_of<std::int32_t>() {
    return Element::int32;
}
template <>
constexpr Element element_of<std::int64_t>() {
    return Element::int64;
}
template <>
constexpr Element element_of<std::uint8_t>() {
    return Element::uint8;
}

/// A box of a dataset and its dense source in host memory.
struct Part {
    const void* data;
    std::vector<core::index_t> first;
    std::vector<core::index_t> extent;
};
}  // namespace detail

/// Writes one HDF5 file of results that appears completely or not at all (see AtomicFile): the
/// target is unchanged until `commit()`, and for good after an exception. Complex numbers are
/// compounds {r,i}, which h5py reads as complex64 or complex128. Datasets are contiguous, except
/// those that grow.
///
/// Every named axis of a dataset gets a dimension scale, the dataset of that name ("/doppler") with
/// the coordinates along the axis: those of `coordinates`, else 0, 1, 2, ... So netCDF's readers,
/// xarray among them, show named coordinates.
///
/// T is one of std::complex<float>, std::complex<double>, float, double, std::int32_t,
/// std::int64_t, std::uint8_t. Names are paths inside the file ("/output"); missing groups are
/// created. A full disk and every other failure throws core::InvalidArgument "NAME: cannot write:
/// REASON".
class ResultFile {
  public:
    using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::string>>;

    explicit ResultFile(const std::filesystem::path& target);
    ~ResultFile();
    ResultFile(const ResultFile&) = delete;
    ResultFile& operator=(const ResultFile&) = delete;

    /// Creates a dataset for `write_part`. `axes`, if any, name its axes, which have one length in
    /// all datasets. If it `grows`, parts may be written beyond its first extent, which then grows
    /// as required.
    template <class T>
    void create(const std::string& dataset, const std::vector<core::index_t>& extents,
                const std::vector<std::string>& axes = {}, bool grows = false) {
        create_dataset(dataset, detail::element_of<T>(), extents, axes, grows);
    }
    /// Writes `values`, which are dense, to the box of a created dataset that starts at `first`.
    template <class T, int Rank, class Layout>
    void write_part(const std::string& dataset,
                    const std::type_identity_t<core::Extents<Rank>>& first,
                    core::View<T, Rank, core::Host, Layout> values) {
        core::expects(values.dense(), dataset, ": a part must be dense");
        write_box(dataset, detail::element_of<std::remove_const_t<T>>(),
                  {values.data,
                   {first.begin(), first.end()},
                   {values.extent.begin(), values.extent.end()}});
    }
    /// Creates and writes a whole dataset.
    template <class T, int Rank, class Layout>
    void write(const std::string& dataset, core::View<T, Rank, core::Host, Layout> values,
               const std::vector<std::string>& axes = {}) {
        create<std::remove_const_t<T>>(dataset, {values.extent.begin(), values.extent.end()}, axes);
        write_part(dataset, core::Extents<Rank>{}, values);
    }
    /// The coordinates along an axis of that name, in order, for example "doppler", in "Hz",
    /// meaning "Doppler frequency". Units "1" are dimensionless.
    void coordinates(const std::string& axis, const std::vector<double>& values,
                     const std::string& units, const std::string& meaning);
    /// A one-dimensional dataset of records, with one member per column; strings have fixed length.
    /// The axis of "/detections" is "detections_row". If a column has units, the attribute `units`
    /// lists those of all.
    void table(const std::string& dataset, const std::vector<Column>& columns);
    /// An attribute of an existing dataset, or of the file if `object` is "/". A list becomes a
    /// one-dimensional array.
    void attribute(const std::string& object, const std::string& name, const Attribute& value);

    /// Completes and returns the uncommitted file. Nothing can be written afterwards.
    AtomicFile finish();
    /// Completes the file and gives it its name.
    void commit();

  private:
    void create_dataset(const std::string& dataset, detail::Element element,
                        const std::vector<core::index_t>& extents,
                        const std::vector<std::string>& axes, bool grows);
    void write_box(const std::string& dataset, detail::Element element, const detail::Part& part);
    void attach_scales();

    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::media
