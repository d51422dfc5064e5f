"""The interactive Gantt page: a result as columns of numbers, and the page that draws them."""
