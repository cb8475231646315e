"""Settings of a machine that generated data must not depend on: two environments that differ in all of them."""

ONE = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
}
OTHER = {
    "LC_ALL": "POSIX",
    "TZ": "Pacific/Chatham",
    "PYTHONHASHSEED": "4242",
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_CORETYPE": "Nehalem",
    "ATEN_CPU_CAPABILITY": "default",
    "NPY_DISABLE_CPU_FEATURES": "AVX2,FMA3,AVX512F,AVX512_SKX",
    "JSIMD_FORCENONE": "1",  # libjpeg-turbo, which encodes the images
}
