"""Checks of a team's own files before anything is learned from them: what is wrong, how often, where, what to do."""
