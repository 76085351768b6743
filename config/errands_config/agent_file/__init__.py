"""The format of the agent file, piece by piece. Others import `errands_config.agent`, never these parts."""
