//! Tests against other implementations of the same wire formats, in `tests/`; there is nothing else here.
