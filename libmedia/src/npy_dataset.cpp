// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/npy_dataset.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5_driver.hpp"
#include "libmedia/src/npy_header.hpp"

namespace aperture::media {
namespace {

// A driver and no external storage: of that, HDF5 1.10 opens the file for each run of elements, and
// what lies beyond the 2 GiB that Linux reads at once comes back as zeros.

// Metadata of HDF5 lie below this address, the array's data from there on.
constexpr haddr_t data_address = 1 << 16;

struct Source {
    haddr_t data_at;  ///< in the .npy file
    hsize_t data_bytes;
};

struct NpySource {
    H5FD_t base{};  // filled in and passed back by HDF5; must come first
    Source source{};
    int descriptor = -1;
    haddr_t allocated = 0;  ///< bytes of metadata
    bool has_data = false;
    std::array<char, data_address> metadata{};

    ~NpySource() {
        if (descriptor >= 0) ::close(descriptor);
    }
};

NpySource& source_of(H5FD_t* file) { return *reinterpret_cast<NpySource*>(file); }
const NpySource& source_of(const H5FD_t* file) { return *reinterpret_cast<const NpySource*>(file); }

H5FD_t* open_source(const char* name, unsigned, hid_t access, haddr_t) {
    const auto* const info = static_cast<const Source*>(H5Pget_driver_info(access));
    std::unique_ptr<NpySource> file(new (std::nothrow) NpySource);
    if (info == nullptr || !file) return nullptr;
    file->source = *info;
    file->descriptor = ::open(name, O_RDONLY | O_CLOEXEC);
    return file->descriptor < 0 ? nullptr : &file.release()->base;
}

herr_t close_source(H5FD_t* file) {
    delete &source_of(file);
    return 0;
}

herr_t describe_source(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

haddr_t allocate(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size) {
    NpySource& to = source_of(file);
    if (type == H5FD_MEM_DRAW) {
        if (std::exchange(to.has_data, true) || size != to.source.data_bytes) return HADDR_UNDEF;
        return data_address;
    }
    if (size > data_address - to.allocated) return HADDR_UNDEF;
    return std::exchange(to.allocated, to.allocated + size);
}

haddr_t end_of(const H5FD_t* file, H5FD_mem_t) {
    const NpySource& of = source_of(file);
    return of.has_data ? data_address + of.source.data_bytes : of.allocated;
}
herr_t set_end(H5FD_t*, H5FD_mem_t, haddr_t) { return 0; }

bool in_metadata(haddr_t address, std::size_t size) {
    return address <= data_address && size <= data_address - address;
}

herr_t read_source(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                   void* buffer) {
    const NpySource& from = source_of(file);
    if (in_metadata(address, size)) {
        std::copy_n(from.metadata.data() + address, size, static_cast<char*>(buffer));
        return 0;
    }
    if (address < data_address) return -1;
    const haddr_t at = from.source.data_at + (address - data_address);
    return read_at(from.descriptor, at, size, buffer) == size ? 0 : -1;
}

herr_t write_source(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                    const void* buffer) {
    if (!in_metadata(address, size)) return -1;
    std::copy_n(static_cast<const char*>(buffer), size, source_of(file).metadata.data() + address);
    return 0;
}

Handle register_driver() {
    H5FD_class_t driver = driver_named("aperture_npy");
    driver.fapl_size = sizeof(Source);
    driver.open = open_source;
    driver.close = close_source;
    driver.query = describe_source;
    driver.alloc = allocate;
    driver.get_eoa = end_of;
    driver.set_eoa = set_end;
    driver.get_eof = end_of;
    driver.read = read_source;
    driver.write = write_source;
    return {H5FDregister(&driver), H5FDunregister};
}

Handle float_type(std::size_t bytes) {
    Handle type{H5Tcopy(bytes == 8 ? H5T_IEEE_F64LE : H5T_IEEE_F32LE), H5Tclose};
    if (bytes == 2) {  // binary16
        H5Tset_fields(type, 15, 10, 5, 0, 10);
        H5Tset_precision(type, 16);
        H5Tset_size(type, 2);
        H5Tset_ebias(type, 15);
    }
    return type;
}

Handle integer_type(bool is_signed, std::size_t bytes) {
    Handle type{H5Tcopy(is_signed ? H5T_STD_I64LE : H5T_STD_U64LE), H5Tclose};
    H5Tset_size(type, bytes);
    return type;
}

Handle type_of(const NpyNumber& number) {
    if (number.kind == 'c') {
        const Handle part = type_of({'f', number.bytes / 2, number.big_endian});
        Handle pair{H5Tcreate(H5T_COMPOUND, number.bytes), H5Tclose};
        H5Tinsert(pair, "r", 0, part);
        H5Tinsert(pair, "i", number.bytes / 2, part);
        return pair;
    }
    Handle type = number.kind == 'f' ? float_type(number.bytes)
                                     : integer_type(number.kind == 'i', number.bytes);
    if (number.big_endian) H5Tset_order(type, H5T_ORDER_BE);
    return type;
}

Handle type_of(const NpyHeader& header, const std::string& label) {
    if (!header.is_record) return type_of(header.members.front().number);
    Handle record{H5Tcreate(H5T_COMPOUND, header.element_bytes), H5Tclose};
    for (const NpyMember& member : header.members) {
        const Handle type = type_of(member.number);
        core::expects(H5Tinsert(record, member.name.c_str(), member.offset, type) >= 0, label,
                      ": has two members '", member.name, "' in its records");
    }
    return record;
}

Handle space_of(const NpyHeader& header) {
    if (header.shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
    std::vector<hsize_t> extents(header.shape.begin(), header.shape.end());
    if (header.fortran_order) std::reverse(extents.begin(), extents.end());
    return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose};
}

}  // namespace

NpyDataset open_npy(const std::filesystem::path& path, const std::string& dataset) {
    const std::string label = path.string();
    const NpyHeader header = read_npy_header(path);
    core::expects(header.shape.size() <= H5S_MAX_RANK, label, ": its array has ",
                  header.shape.size(), " axes, expected at most ", H5S_MAX_RANK);
    // The extent of real and imaginary parts would change its place.
    const bool real = !header.is_record && header.members.front().number.kind != 'c';
    core::expects(!real || !header.fortran_order, label,
                  ": is an array of real numbers in Fortran order; save "
                  "numpy.ascontiguousarray(array) instead");
    const Handle driver = register_driver();
    const Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
    const Source source{header.data_at, static_cast<hsize_t>(header.data_bytes)};
    H5Pset_driver(access, driver, &source);
    // "Truncates" the metadata in memory; the driver cannot write to the array's file.
    Handle file{H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose};
    core::expects(file.valid(), label, ": cannot be opened (", last_failure().reason, ")");
    const Handle type = type_of(header, label);
    const Handle space = space_of(header);
    const Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    const Handle made{
        H5Dcreate2(file, dataset.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
        H5Dclose};
    core::expects(made.valid(), label, ": cannot be read as a dataset of HDF5 (",
                  last_failure().reason, ")");
    return {std::move(file), header.fortran_order};
}

}  // namespace aperture::media
