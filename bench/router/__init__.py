"""How what arrives while the model speaks is merged into its next call: real mailbox, real loop, a model that sleeps.

All times of the simulated world are told in its own seconds and lived through 20 times as fast. What Errands itself
takes is not scaled, so in the world's seconds it weighs 20 times as much as it would in front of a real model.
"""
