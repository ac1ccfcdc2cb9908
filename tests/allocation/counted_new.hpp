// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls of operator new since the program started. Linking counted_new.cpp replaces the operator.
/// It is a separate file so that compilers cannot inline it.
long calls_of_new();
/// Bytes of these calls, including memory deleted since.
long bytes_of_new();
