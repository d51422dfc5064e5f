"""Computations behind ``holdfast plan``, ``fit-costs`` and ``loop``, and plans replayed as series of rigid jobs."""
