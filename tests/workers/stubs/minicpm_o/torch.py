"""What the worker uses of torch."""

bfloat16 = "bfloat16"
