"""Other ways to run an operator than its kernel: chosen by HOSTACL_ENGINE, tested as the kernels are."""
