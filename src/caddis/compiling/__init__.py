"""How kernels are compiled: `kernel` marks a function that numba turns into machine code.

What was compiled is kept on disk, so a machine compiles each kernel once.
"""

from caddis.compiling.decorator import kernel
