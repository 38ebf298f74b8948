"""A report as a page, as Markdown and as files by themselves."""
