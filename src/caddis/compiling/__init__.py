"""How kernels are compiled, and where compiled ones are kept.

`kernel` marks a function that numba turns into machine code when it is first called. What was
compiled is kept on disk under what it was made from, so a machine compiles each kernel once, and
never runs one whose source has changed. `inner_kernel` marks one that only kernels call.

decorator      `kernel` and `inner_kernel`
dispatching    how numba goes about compiling them, in two thirds of the time that it would take
fingerprints   what a kernel is made from: itself, and all that it refers to
targets        what it is made for: versions of Python, numba and numpy, and the processor
folders        where compiled kernels may be kept, and which of these folders can be trusted
cache          a kernel's compiled forms on disk
needs          what a room needs compiled, and whether that is done
processes      compiling in processes of their own, while others work
"""

from caddis.compiling.cache import chosen_folder
from caddis.compiling.decorator import inner_kernel, kernel
from caddis.compiling.needs import Need
from caddis.compiling.processes import Compilation, prepare, start_compiling
