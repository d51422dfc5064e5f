"""What a trace is: its description, and the generator held against the published baseline.

Other folders use ``description`` and ``marginals``.
"""
