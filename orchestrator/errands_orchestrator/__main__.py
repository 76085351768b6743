"""`python -m errands_orchestrator`: the program `errands`, also where it is not installed beside the interpreter."""

from errands_orchestrator.cli import main

if __name__ == "__main__":
    main()
