// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0

// Nothing: CMake precompiles headers for targets with sources only.
