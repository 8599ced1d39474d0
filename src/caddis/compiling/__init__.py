"""How kernels are compiled, and where compiled ones are kept.

`kernel` marks a function that numba turns into machine code when it is first called. Compiled
code is kept on disk under a digest of what it was made from, so a machine compiles each kernel once
and never runs one whose source has changed. `inner_kernel` marks one that only kernels call.

decorator      `kernel` and `inner_kernel`
dispatching    how numba is made to compile them in two thirds of its usual time
fingerprints   what a kernel is made from: its code, and everything that this refers to
targets        what it is made for: versions of Python, numba and numpy, and the processor
folders        where compiled kernels may be kept, and which of these folders can be trusted
cache          a kernel's compiled forms on disk
needs          which kernels a room needs, and whether they are compiled
processes      compiling in separate processes, while this one goes on
"""

from caddis.compiling.cache import chosen_folder
from caddis.compiling.decorator import inner_kernel, kernel
from caddis.compiling.folders import unusable
from caddis.compiling.needs import Need
from caddis.compiling.processes import Compilation, prepare, start_compiling
