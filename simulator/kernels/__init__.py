"""Loops over whole numbers that compute the starts of jobs: plain sources that run compiled or interpreted.

Other folders use ``easyloop``, ``planloop`` and ``running``.
"""
