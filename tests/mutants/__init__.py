"""Named one-line breakages of the code, each with the test that must go red. `python -m tests.mutants [NAME…]`."""
