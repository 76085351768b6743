"""The fault kit: a whole deployment as processes, faults by a seed, and a checker that reads what was left.

`python -m tests.faults --seed 7 --minutes 3` is one run; `storm.py` says how it goes, `verdict.py` what must hold.
"""
