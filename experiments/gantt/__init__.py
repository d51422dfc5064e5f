"""The interactive Gantt page: a result converted to columns of numbers, and the page that draws them."""
