"""Mechanisms on machines whose jobs share nodes: holds on parts of named nodes, and the services that use them."""
