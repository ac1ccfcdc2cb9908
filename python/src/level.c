/* SPDX-FileCopyrightText: Aperture contributors
 * SPDX-License-Identifier: Apache-2.0
 * Which builds this processor can run. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject* level(PyObject* self, PyObject* arguments) {
    (void)self;
    (void)arguments;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4")) return PyLong_FromLong(4);
    if (__builtin_cpu_supports("x86-64-v3")) return PyLong_FromLong(3);
    if (__builtin_cpu_supports("x86-64-v2")) return PyLong_FromLong(2);
    return PyLong_FromLong(1);
}

static PyMethodDef functions[] = {
    {"level", level, METH_NOARGS, "The x86-64 level of this processor, 1 to 4."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_level", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__level(void) { return PyModule_Create(&module); }
