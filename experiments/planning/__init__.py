"""What ``holdfast plan``, ``fit-costs`` and ``loop`` work out, and plans replayed as series of rigid jobs."""
