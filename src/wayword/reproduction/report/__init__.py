"""A report as a page, as Markdown and as files by themselves: what it consists of, and how that is written."""
