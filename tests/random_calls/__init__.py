"""Random valid calls, drawn from the prototypes and checked against oracles that know nothing of the kernels."""
