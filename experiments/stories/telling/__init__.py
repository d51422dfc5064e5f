"""Make sentences of facts."""
