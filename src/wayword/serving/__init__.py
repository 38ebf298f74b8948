"""Completions for people: in process (`completer`), and over HTTP in the extra `serve`."""
