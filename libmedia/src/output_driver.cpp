// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/output_driver.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>

#include "libmedia/src/hdf5_driver.hpp"
#include "libmedia/src/write_back.hpp"

namespace aperture::media {
namespace {

struct AccessInfo {
    OutputStatus* status;
};

struct OutputFile {
    H5FD_t base{};  // filled in and passed back by HDF5; must come first
    OutputStatus* status = nullptr;
    haddr_t allocated = 0;
    haddr_t written = 0;
};

OutputFile* output_of(H5FD_t* file) { return reinterpret_cast<OutputFile*>(file); }
const OutputFile* output_of(const H5FD_t* file) {
    return reinterpret_cast<const OutputFile*>(file);
}

H5FD_t* open_output(const char*, unsigned, hid_t access, haddr_t) {
    const auto* info = static_cast<const AccessInfo*>(H5Pget_driver_info(access));
    auto* output = new (std::nothrow) OutputFile;
    if (info == nullptr || output == nullptr) {
        delete output;
        return nullptr;
    }
    output->status = info->status;
    return &output->base;
}

herr_t close_output(H5FD_t* file) {
    delete output_of(file);
    return 0;
}

int compare_outputs(const H5FD_t* a, const H5FD_t* b) {
    const int left = output_of(a)->status->descriptor;
    const int right = output_of(b)->status->descriptor;
    return left < right ? -1 : left > right ? 1 : 0;
}

herr_t describe_output(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) { return output_of(file)->allocated; }
haddr_t written_end(const H5FD_t* file, H5FD_mem_t) { return output_of(file)->written; }
herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    output_of(file)->allocated = address;
    return 0;
}

herr_t read_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                   void* buffer) {
    const std::size_t got = read_at(output_of(file)->status->descriptor, address, size, buffer);
    std::memset(static_cast<char*>(buffer) + got, 0, size - got);
    return 0;
}

herr_t write_output(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t size,
                    const void* buffer) {
    OutputFile& output = *output_of(file);
    output.written = std::max(output.written, address + size);
    const auto* from = static_cast<const char*>(buffer);
    while (size > 0 && output.status->writing()) {
        const ssize_t put =
            ::pwrite(output.status->descriptor, from, size, static_cast<off_t>(address));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) {
            output.status->error = errno;
            break;
        }
        start_write_back(output.status->descriptor, static_cast<std::size_t>(put),
                         output.status->waiting);
        from += put;
        address += static_cast<haddr_t>(put);
        size -= static_cast<std::size_t>(put);
    }
    return 0;
}

herr_t truncate_output(H5FD_t* file, hid_t, hbool_t) {
    OutputFile& output = *output_of(file);
    if (output.allocated == output.written) return 0;
    if (output.status->writing() &&
        ::ftruncate(output.status->descriptor, static_cast<off_t>(output.allocated)) != 0) {
        output.status->error = errno;
    }
    output.written = output.allocated;
    return 0;
}

H5FD_class_t driver_class() {
    H5FD_class_t driver = driver_named("aperture_output");
    driver.fapl_size = sizeof(AccessInfo);
    driver.open = open_output;
    driver.close = close_output;
    driver.cmp = compare_outputs;
    driver.query = describe_output;
    driver.get_eoa = allocated_end;
    driver.set_eoa = set_allocated_end;
    driver.get_eof = written_end;
    driver.read = read_output;
    driver.write = write_output;
    driver.truncate = truncate_output;
    return driver;
}

}  // namespace

Handle register_output_driver() {
    const H5FD_class_t driver = driver_class();
    return {H5FDregister(&driver), H5FDunregister};
}

herr_t use_output_driver(hid_t access, hid_t driver, OutputStatus* status) {
    const AccessInfo info{status};
    return H5Pset_driver(access, driver, &info);
}

}  // namespace aperture::media
