// SVMGSU_CLONES marks a function to be compiled for several instruction sets (cpp/CMakeLists.txt
// finds out which spelling the compiler and the C library support; empty where none). Such a function is local to its
// file: clang hands the first of its versions, not the fitting one, to a caller that knows it by its plain name.
#pragma once

#if defined(SVMGSU_CLONE_LEVELS)
#define SVMGSU_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(SVMGSU_CLONE_CPUS)
#define SVMGSU_CLONES __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define SVMGSU_CLONES
#endif

#define SVMGSU_INLINE inline __attribute__((always_inline))
#define SVMGSU_RESTRICT __restrict__
#define SVMGSU_PREFETCH(address) __builtin_prefetch(address)
#define SVMGSU_PREFETCH_SECOND(address) __builtin_prefetch(address, 0, 2)  // into the second-level cache
