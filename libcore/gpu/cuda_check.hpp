// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

#include "aperture/core/error.hpp"

namespace aperture::core {

[[noreturn]] inline void throw_device_error(const char* call, const std::string& reason,
                                            const std::source_location& where) {
    throw DeviceError(text(call, ": ", reason, " at ", where.file_name(), ":", where.line()));
}

[[noreturn]] inline void throw_unfit(const char* call, const std::string& reason,
                                     const std::source_location& where) {
    throw UnfitDevice(text(call, ": ", reason, " at ", where.file_name(), ":", where.line()));
}

/// Throws DeviceError with the call's text and the library's message unless `status` is success;
/// UnfitDevice if the device lacks memory or code.
inline void check_status(cudaError_t status, const char* call,
                         const std::source_location& where = std::source_location::current()) {
    if (status == cudaSuccess) return;
    // Clears the error, so that the next check does not see it.
    static_cast<void>(cudaGetLastError());
    const std::string reason = text(cudaGetErrorName(status), ", ", cudaGetErrorString(status));
    switch (status) {
        case cudaErrorMemoryAllocation:
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorInvalidPtx:
        case cudaErrorUnsupportedPtxVersion:
        case cudaErrorJitCompilerNotFound:
        case cudaErrorLaunchOutOfResources:
        case cudaErrorCooperativeLaunchTooLarge:
            throw_unfit(call, reason, where);
        default:
            throw_device_error(call, reason, where);
    }
}

}  // namespace aperture::core

/// For every call of the CUDA runtime, and of a library whose status has a check_status.
#define APERTURE_CUDA_TRY(call) ::aperture::core::check_status((call), #call)
