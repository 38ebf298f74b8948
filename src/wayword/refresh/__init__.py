"""Fresh every day: new searches into a finished workspace, learning only what they touch."""
