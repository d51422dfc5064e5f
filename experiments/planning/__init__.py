"""What ``holdfast plan``, ``fit-costs`` and ``loop`` work out, and plans replayed as series of rigid jobs.

Other folders use ``costfile``, ``document``, ``laws``, ``loop``, ``series`` and ``waitpairs``.
"""
