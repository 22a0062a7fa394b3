"""goald_cells -- goald's own Python inside the sandbox: runs cells of code in a namespace that lasts.

Nothing here is a boundary. Code in a cell may reach every object of this package. The process around it is the boundary.
"""
