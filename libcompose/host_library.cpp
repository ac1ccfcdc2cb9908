// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcompose/host_library.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "aperture/core/error.hpp"
#include "libcompose/private_folder.hpp"

namespace aperture::compose {
namespace {

/// A file in memory with these bytes; -1 if the system has none to give.
int file_in_memory(std::string_view bytes) {
    const int descriptor = ::memfd_create("aperture", MFD_CLOEXEC);
    while (descriptor >= 0 && !bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            ::close(descriptor);
            return -1;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return descriptor;
}

}  // namespace

std::shared_ptr<const HostLibrary> HostLibrary::load(std::string_view object,
                                                     std::vector<std::string> functions,
                                                     std::string& reason) {
    // Memory is not mounted noexec, and nobody else can replace the object meanwhile. Debuggers
    // find the file by this name, as long as it is open.
    if (const int descriptor = file_in_memory(object); descriptor >= 0) {
        const std::shared_ptr<HostLibrary> library(new HostLibrary(descriptor, functions));
        const std::string path = core::text("/proc/", ::getpid(), "/fd/", descriptor);
        if (library->open(path.c_str(), reason)) return library;
    }
    const PrivateFolder folder;
    reason = folder.failure();
    if (!reason.empty()) return nullptr;
    reason = folder.write("kernel.so", object);
    if (!reason.empty()) return nullptr;
    const std::shared_ptr<HostLibrary> library(new HostLibrary(-1, std::move(functions)));
    if (library->open((folder.path() / "kernel.so").c_str(), reason)) return library;
    return nullptr;
}

bool HostLibrary::open(const char* path, std::string& reason) {
    // The loader knows objects by their names: a library that could not be unloaded may still have
    // the name of a descriptor that is used again.
    if (void* const other = ::dlopen(path, RTLD_NOW | RTLD_NOLOAD); other != nullptr) {
        ::dlclose(other);
        reason = core::text(path, " is the name of another library");
        return false;
    }
    handle_ = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
        reason = ::dlerror();
        return false;
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
        void* const symbol = ::dlsym(handle_, core::text("aperture_function_", i).c_str());
        if (symbol == nullptr) {
            reason = core::text(path, " has no function ", names_[i]);
            return false;
        }
        addresses_.push_back(reinterpret_cast<void* (*)()>(symbol)());
    }
    return true;
}

HostLibrary::~HostLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
    if (descriptor_ >= 0) ::close(descriptor_);
}

void* HostLibrary::address(std::string_view expression) const {
    const auto name = std::find(names_.begin(), names_.end(), expression);
    core::expects(name != names_.end(), "the library has no function ", expression);
    return addresses_[static_cast<std::size_t>(name - names_.begin())];
}

}  // namespace aperture::compose
