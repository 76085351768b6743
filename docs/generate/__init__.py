"""The reference pages, made from the code that they describe: `python -m docs.generate` writes them."""
