"""Experiments that go beyond the four papers and use rigid, malleable, on-demand and stochastic jobs together."""
