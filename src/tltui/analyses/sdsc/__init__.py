"""What torch-spyre's compiler is told of each operation of a kernel: its `sdsc_<i>.json` files."""
