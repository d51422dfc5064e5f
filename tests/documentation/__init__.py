"""The code blocks of the documentation, run as a reader would run them: a page is one session in one directory.

=====================  ================================================================================================
block                  what is done with it
=====================  ================================================================================================
``python``             runs; names live on through the page. A ``text`` block right after it is what it prints
``console``            lines with ``$`` run, what is between them is what they print
``sh``, or indented    each line runs, where it is a command that is known here; what it prints is not compared
any, after a comment   ``<!-- file: NAME -->``: is written under that name
``toml``, ``json``     can be read
``text``               a drawing or a formula, unless it stands right after a block that prints
``{...}``              MyST's; Sphinx reads it
=====================  ================================================================================================

``<!-- picture: NAME -->`` before an image says which file, written by the page, it is a copy of.

``python -m tests.documentation [PAGE ...]`` puts what really comes out, and the pictures, into the pages.
"""
