"""What is known of a concept of one event, as one byte.

Kernels, caches and files hold answers like this. UNKNOWN was asked, and makes neither the concept
nor its negation true; UNASKED may still become any of the three.
"""

from caddis.arrays import Bytes

NO, YES, UNKNOWN, UNASKED = 0, 1, 2, 3

Marks = Bytes
