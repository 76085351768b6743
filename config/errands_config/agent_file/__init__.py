"""The format of the agent file, piece by piece. Other roots import `errands_config.agent`, never these parts."""
