"""The tables and figures of the four papers, a folder for each paper.

Other folders use ``checkpoint.batch``, ``hybrid.claims`` and ``hybrid.printedlevels``.
"""
