"""One page of what all experiments of a directory say, and the pages of the documentation."""
