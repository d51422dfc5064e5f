"""What ``holdfast plan``, ``fit-costs`` and ``loop`` work out.

Other folders use ``costfile``, ``document``, ``laws``, ``loop`` and ``waitpairs``.
"""
